"""What is wrong with node groups on GKE, beyond what is wrong with them on every cloud."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from components import catalog
from components.faults import Fault, did_you_mean
from components.gke import slices
from components.gke.accelerators import guest_accelerators
from components.gke.places import one_zone, zones_of
from components.node_group import Mig, Shape, TimeSlicing

if TYPE_CHECKING:
    from components.cluster.gke import Gke

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
"""MIG profiles that the card has and GKE does not make (container-engine-accelerators@09e2ab1, partition_gpu.go)."""


def faults(args: "Gke", groups: Mapping[str, Shape]) -> Iterator[Fault]:
    """Every fault, a line each."""
    for name, shape in groups.items():
        path = ("nodeGroups", name)
        room = _NAME_LIMIT - _ADDED_TO_NAMES
        if len(name) > room:
            reason = f"the name has {len(name)} characters, at most {room} leave room for what is added to it"
            yield Fault(path, reason)
        yield from _zones(path, shape, args)
        yield from _slice(path, shape)
        yield from _capacity(path, shape)
        if shape.args.provisioner == "automatic":
            yield from _automatic(path, shape)
            if args.lustre and not guest_accelerators(shape, args.gpu_driver):
                # By itself, GKE makes kernels that take no modules where there are no GPUs.
                reason = "got automatic, whose nodes without GPUs cannot mount Lustre: need group"
                yield Fault((*path, "provisioner"), reason, given=(("cluster", "lustre"),))


def _zones(path: tuple[str, ...], shape: Shape, args: "Gke") -> Iterator[Fault]:
    zones, machine = zones_of(shape, args), shape.machine
    selling = catalog.sold("gke", machine, args.region) if machine else None
    known = set(args.usual_zones) <= set(catalog.zones("gke", args.region))
    if machine and selling and not zones and known:
        reason = f"no zone of the cluster ({', '.join(args.usual_zones)}) sells {machine.name}"
        yield Fault((*path, "zones"), f"{reason}: need one of {', '.join(selling)}", given=(("cluster", "zones"),))
    elif selling != () and known and one_zone(shape, args) and len(zones) != 1:
        found = f"got {', '.join(zones)}" if shape.args.zones else "missing"
        some = f" of {', '.join(zones)}" if zones and not shape.args.zones else ""
        yield Fault((*path, "zones"), f"{found}: {_why_one(shape)}, need one{some}")


def _why_one(shape: Shape) -> str:
    if shape.args.reserved:
        return "a reservation is in one zone"
    if shape.args.topology:
        return "a TPU slice is in one zone"
    return f"GPUDirect joins {shape.machine.name if shape.machine else 'those'} machines of one zone"


def _slice(path: tuple[str, ...], shape: Shape) -> Iterator[Fault]:
    topology, where = shape.args.topology, (*path, "topology")
    if topology is None:
        return
    if shape.accelerator is None or shape.accelerator.kind != "tpu":
        yield Fault(where, f"got {topology} on a group without TPUs: leave it out")
        return
    like = (shape.machine and shape.machine.topology) or topology
    if not slices.is_topology(topology, like):
        known = slices.examples(like)
        near = did_you_mean(topology, known)
        yield Fault(where, f"{shape.accelerator.name} has no topology {topology!r}, but {', '.join(known)}{near}")
        return
    machines, args = slices.machines(shape), shape.args
    if machines > 1 and not slices.joins(shape):
        reason = f"got {topology}, but {shape.accelerator.name} machines are not wired to each other: need {like}"
        yield Fault(where, reason)
    elif machines > 1 and shape.per_node != slices.CHIPS_OF_SLICE_MACHINES:
        reason = f"got {shape.per_node}, slices of several machines ({topology}) have 4 on each: need 4"
        yield Fault((*path, "perNode"), reason)
    elif machines < 1:
        yield Fault(where, f"{topology} has fewer chips than a machine of the group, {shape.per_node}")
    elif args.max != machines:
        yield Fault((*path, "max"), f"got {args.max}, a slice of {topology} has {machines} machines: need {machines}")
    elif args.min not in (0, machines):
        yield Fault((*path, "min"), f"got {args.min}, a slice starts and stops as one: need 0 or {machines}")


def _capacity(path: tuple[str, ...], shape: Shape) -> Iterator[Fault]:
    reserved, sharing = shape.args.reserved, shape.args.sharing
    if reserved and not _RESERVATION.fullmatch(reserved.id):
        need = "need a reservation's name, or projects/PROJECT/reservations/NAME"
        yield Fault((*path, "reserved", "id"), f"got {reserved.id!r}, {need}")
    if isinstance(sharing, TimeSlicing) and sharing.replicas > _CLIENTS_LIMIT:
        reason = f"got {sharing.replicas}, GKE shares a GPU between {_CLIENTS_LIMIT} pods at most"
        yield Fault((*path, "sharing", "replicas"), reason)
    card = shape.accelerator
    if isinstance(sharing, Mig) and card and sharing.profile in (missing := _NO_PARTITIONS.get(card.name, frozenset())):
        able = [profile for profile in card.mig if profile not in missing]
        reason = f"GKE makes no {sharing.profile} of {card.name}, it makes {', '.join(able)}"
        yield Fault((*path, "sharing", "profile"), reason + did_you_mean(sharing.profile, able))


def _automatic(path: tuple[str, ...], shape: Shape) -> Iterator[Fault]:
    """What GKE cannot do where it makes the node pools itself."""
    args = shape.args
    if args.min:
        yield Fault((*path, "min"), f"got {args.min} with provisioner automatic, which keeps no nodes: need 0")
    for key, given in (("reserved", args.reserved), ("sharing", args.sharing)):
        if given:
            yield Fault((*path, key), "given with provisioner automatic, which cannot: need provisioner group")
    if args.topology:
        yield Fault((*path, "topology"), "given with provisioner automatic: need provisioner group")
