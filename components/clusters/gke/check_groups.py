"""Checks of node groups that are specific to GKE, and notes about them."""

import re
from collections.abc import Iterator, Mapping

from tensorplane.components import catalog
from tensorplane.components.base.problems import Note, Problem, did_you_mean
from tensorplane.components.clusters.gke import slices
from tensorplane.components.clusters.gke.settings import GkeSettings
from tensorplane.components.clusters.gke.zones import begin, has_gpudirect, one_zone, zones_of
from tensorplane.components.node_groups.settings import Mig, TimeSlicing
from tensorplane.components.node_groups.shape import Shape

_NAME_LIMIT = 40
_ADDED_TO_NAMES = 8
_CLIENTS_LIMIT = 48
_NAME = r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?"
_RESERVATION = re.compile(
    rf"(projects/[^/]+/reservations/)?{_NAME}(/reservationBlocks/{_NAME}(/reservationSubBlocks/{_NAME})?)?"
)
_NO_PARTITIONS: Mapping[str, frozenset[str]] = {
    "a100-40gb": frozenset({"1g.10gb"}),
    "a100-80gb": frozenset({"1g.20gb"}),
}
"""MIG profiles of GPUs that GKE does not support (container-engine-accelerators@09e2ab1, partition_gpu.go)."""


def find_problems(args: GkeSettings, groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """Every problem, a line each."""
    for name, shape in groups.items():
        path = ("nodeGroups", name)
        limit = _NAME_LIMIT - _ADDED_TO_NAMES
        if len(name) > limit:
            reason = (
                f"the name has {len(name)} characters; shorten it to {limit}, because GKE resources append a suffix"
            )
            yield Problem(path, reason)
        yield from _zones(path, shape, args)
        yield from _slice(path, shape)
        yield from _capacity(path, shape)
        if shape.args.provisioner == "automatic":
            yield from _automatic(path, shape)
            if args.lustre and not (shape.accelerator and shape.accelerator.kind == "gpu"):
                # On automatically provisioned nodes without GPUs, the kernel does not load third-party modules.
                reason = "nodes without GPUs cannot mount Lustre under provisioner automatic; set provisioner: group"
                yield Problem((*path, "provisioner"), reason, given=(("cluster", "lustre"),))


def _zones(path: tuple[str, ...], shape: Shape, args: GkeSettings) -> Iterator[Problem]:
    zones, machine = zones_of(shape, args), shape.machine
    selling = catalog.sold("gke", machine, args.region) if machine else None
    known = set(args.usual_zones) <= set(catalog.zones("gke", args.region))
    if machine and selling and not zones and known:
        reason = f"{machine.name} is not available in any zone of the cluster ({', '.join(args.usual_zones)})"
        yield Problem((*path, "zones"), f"{reason}; choose one of {', '.join(selling)}", given=(("cluster", "zones"),))
    elif selling != () and known and one_zone(shape, args) and len(zones) != 1:
        found = f"lists {len(zones)} zones" if shape.args.zones else "missing"
        which = f"choose one of {', '.join(zones)}" if zones else "name its zone"
        yield Problem((*path, "zones"), f"{found}, but {_why_one(shape)}; {which}")


def _why_one(shape: Shape) -> str:
    if shape.args.reserved:
        return "a reservation is in one zone"
    if shape.args.topology:
        return "a TPU slice is in one zone"
    return f"GPUDirect connects {shape.machine.name if shape.machine else 'such'} machines of one zone only"


def _slice(path: tuple[str, ...], shape: Shape) -> Iterator[Problem]:
    topology, at = shape.args.topology, (*path, "topology")
    if topology is None:
        return
    if shape.accelerator is None or shape.accelerator.kind != "tpu":
        yield Problem(at, "is set on a group without TPUs; remove it")
        return
    like = (shape.machine and shape.machine.topology) or topology
    if not slices.is_topology(topology, like):
        known = slices.examples(like)
        near = did_you_mean(topology, known)
        yield Problem(
            at, f"{shape.accelerator.name} has no topology {topology!r}; choose one of {', '.join(known)}{near}"
        )
        return
    machines, args = slices.machines(shape), shape.args
    if machines > 1 and not slices.joins(shape):
        reason = (
            f"{topology} spans several machines, but {shape.accelerator.name} machines are not interconnected; "
            f"use {like}"
        )
        yield Problem(at, reason)
    elif machines > 1 and shape.per_node != slices.CHIPS_OF_SLICE_MACHINES:
        reason = (
            f"is {shape.per_node}, but machines of a multi-host slice ({topology}) have 4 chips each; set perNode: 4"
        )
        yield Problem((*path, "perNode"), reason)
    elif machines < 1:
        yield Problem(
            at, f"{topology} has fewer chips than one machine of the group ({shape.per_node}); use a larger topology"
        )
    elif args.max != machines:
        yield Problem(
            (*path, "max"), f"is {args.max}, but a {topology} slice has {machines} machines; set max: {machines}"
        )
    elif args.min not in (0, machines):
        yield Problem(
            (*path, "min"),
            f"is {args.min}, but the machines of a slice start and stop together; set min to 0 or {machines}",
        )


def _capacity(path: tuple[str, ...], shape: Shape) -> Iterator[Problem]:
    reserved, sharing = shape.args.reserved, shape.args.sharing
    if reserved and not _RESERVATION.fullmatch(reserved.id):
        remedy = "use its name, or projects/PROJECT/reservations/NAME"
        yield Problem((*path, "reserved", "id"), f"{reserved.id!r} is not the id of a reservation; {remedy}")
    if isinstance(sharing, TimeSlicing) and sharing.replicas > _CLIENTS_LIMIT:
        reason = (
            f"{sharing.replicas} exceeds the {_CLIENTS_LIMIT} pods that can share a GPU on GKE; set "
            f"{_CLIENTS_LIMIT} or less"
        )
        yield Problem((*path, "sharing", "replicas"), reason)
    accelerator = shape.accelerator
    if (
        isinstance(sharing, Mig)
        and accelerator
        and sharing.profile in (missing := _NO_PARTITIONS.get(accelerator.name, frozenset()))
    ):
        able = [profile for profile in accelerator.mig if profile not in missing]
        reason = (
            f"GKE does not offer MIG profile {sharing.profile} on {accelerator.name}; choose one of {', '.join(able)}"
        )
        yield Problem((*path, "sharing", "profile"), reason + did_you_mean(sharing.profile, able))


def _automatic(path: tuple[str, ...], shape: Shape) -> Iterator[Problem]:
    """Problems of settings that node auto-provisioning does not support."""
    args = shape.args
    if args.min:
        yield Problem((*path, "min"), f"min is {args.min}, but provisioner automatic keeps no idle nodes; set min: 0")
    for key, given in (("reserved", args.reserved), ("sharing", args.sharing)):
        if given:
            yield Problem((*path, key), "is not supported by provisioner automatic; set provisioner: group")
    if args.topology:
        yield Problem((*path, "topology"), "is not supported by provisioner automatic; set provisioner: group")


def notes(args: GkeSettings, groups: Mapping[str, Shape]) -> Iterator[Note]:
    """Every note."""
    for name, shape in groups.items():
        zones, each = begin(shape, args)
        nodes = each * len(zones)
        if zones and nodes < shape.args.min and slices.machines(shape) == 1:
            found = (
                f"the group starts with {nodes} nodes, because GKE starts equally many in each of its "
                f"{len(zones)} zones"
            )
            rest = "GKE adds the others when pods need them, and keeps them"
            yield Note(
                ("nodeGroups", name, "min"),
                f"{found}; {rest}. List zones that divide {shape.args.min} evenly to start all of them",
            )
        if has_gpudirect(shape, args) and shape.args.max > 1:
            # Google's NCCL plugins for both come from the node and run privileged (docs.cloud.google.com:
            # ai-hypercomputer gke-ai-hypercompute-custom, kubernetes-engine gpu-bandwidth-gpudirect-tcpx).
            reason = "GPUDirect requires privileged pods, which the namespaces of this stack do not allow"
            yield Note(
                ("nodeGroups", name), f"{reason}; jobs of this stack use TCP (docs/gke.md describes the alternatives)"
            )


# cloud.google.com/compute/docs/accelerator-optimized-machines, the notes of each series. Flex-start, for
# at most a week, is omitted, because node groups are permanent.
_RENTED: Mapping[str, tuple[str, ...]] = {
    "a3-highgpu-1g": ("spot",),
    "a3-highgpu-2g": ("spot",),
    "a3-highgpu-4g": ("spot",),
    "a3-ultragpu-8g": ("spot", "reserved"),
    "a4-highgpu-8g": ("spot", "reserved"),
    "a4x-highgpu-4g": ("reserved",),
}
_NEEDED = {"spot": "spot: true", "reserved": "a reservation in `reserved`"}


def rental_problems(groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """A problem for each group whose machines are not available with its consumption option: Google's newest ones are
    not sold on demand, and some not as spot or not reserved."""
    for name, shape in groups.items():
        ways = _RENTED.get(shape.machine.name) if shape.machine else None
        rented = "reserved" if shape.args.reserved else "spot" if shape.args.spot else "on demand"
        if ways and shape.machine and rented not in ways:
            key = "reserved" if rented == "reserved" else "spot"
            options = " or ".join(_NEEDED[way] for way in ways)
            yield Problem(
                ("nodeGroups", name, key), f"{shape.machine.name} is not available {_as(rented)}; use {options}"
            )


def _as(way: str) -> str:
    return "as spot" if way == "spot" else way
