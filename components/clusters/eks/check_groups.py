"""Checks of node groups that are specific to EKS."""

from collections.abc import Iterator, Mapping

from tensorplane.components import catalog
from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.clusters.eks.placement import uses_efa
from tensorplane.components.clusters.eks.scale_from_zero_tags import LABEL, TAG_KEY_LIMIT, TAINT
from tensorplane.components.clusters.eks.settings import EksSettings
from tensorplane.components.clusters.eks.zones import zones_of
from tensorplane.components.node_groups.shape import Shape

_NAME_LIMIT = 63
_GIVEN = (("cluster", "zones"), ("cluster", "network"), ("cluster", "region"))
_ADDED_TO_NAMES = 8
_TAINT_KEY_LIMIT = 63
_TAINTS_LIMIT = 50
_LEAST_MEMORY = 2
"""GiB. Smaller machines have addresses for four pods, but the add-ons alone have five DaemonSets."""


def find_problems(args: EksSettings, groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """Every problem, a line each."""
    for name, shape in groups.items():
        path = ("nodeGroups", name)
        limit = _NAME_LIMIT - _ADDED_TO_NAMES
        if len(name) > limit:
            reason = (
                f"the name has {len(name)} characters; shorten it to {limit}, because EKS resources append a suffix"
            )
            yield Problem(path, reason)
        yield from _zones(path, args, shape)
        if shape.machine and shape.machine.memory_gib < _LEAST_MEMORY:
            reason = f"{shape.machine.name} is too small for the pods that EKS runs on each node"
            yield Problem((*path, "machine"), f"{reason}; use one with at least {_LEAST_MEMORY} GiB")
        yield from _capacity(path, shape)
        yield from _automatic(path, shape)
        yield from _keys(path, shape)


def _zones(path: tuple[str, ...], args: EksSettings, shape: Shape) -> Iterator[Problem]:
    setting = "cluster.network.subnets" if args.network.subnets else "cluster.zones"
    zones = ", ".join(args.subnet_zones)
    outside = [zone for zone in shape.args.zones if zone not in args.subnet_zones]
    # Zones that the region does not have are reported by another check.
    known = catalog.zones("eks", args.region)
    for zone in (zone for zone in outside if not known or zone in known):
        near = did_you_mean(zone, args.subnet_zones)
        reason = f"{zone} is not a zone of the cluster; choose one of {zones}{near}, or add {zone} to {setting}"
        yield Problem((*path, "zones"), reason, given=_GIVEN)
    if uses_efa(shape) and len(shape.args.zones) > 1:
        reason = f"EFA connects machines of one zone only; choose one of {', '.join(shape.args.zones)}"
        yield Problem((*path, "zones"), f"{reason}, or declare a group for each")
    if not outside and shape.machine and not zones_of(shape, args):
        reason = (
            f"{shape.machine.name} is not available in any zone of the cluster ({zones}); add a zone that has "
            f"it to {setting}"
        )
        yield Problem(path, reason, given=_GIVEN)


def _capacity(path: tuple[str, ...], shape: Shape) -> Iterator[Problem]:
    reserved = shape.args.reserved
    if reserved is None:
        return
    if not reserved.id.startswith("cr-"):
        yield Problem((*path, "reserved", "id"), f"{reserved.id!r} is not the id of a capacity reservation; use cr-…")
    if len(shape.args.zones) != 1:
        yield Problem((*path, "zones"), "a capacity reservation is in one zone; set zones to that zone alone")
    if reserved.capacity_block and not shape.accelerator:
        yield Problem((*path, "reserved", "capacityBlock"), "is set on a group without accelerator; set it to false")


def _automatic(path: tuple[str, ...], shape: Shape) -> Iterator[Problem]:
    if shape.args.provisioner == "automatic" and shape.args.min:
        reason = f"min is {shape.args.min}, but provisioner automatic starts nodes only for waiting pods; set min: 0"
        yield Problem((*path, "min"), reason)
    if shape.args.provisioner == "automatic" and shape.args.sharing:
        # Karpenter counts whole GPUs, and would start a machine for each pod that shares one.
        reason = (
            "conflicts with provisioner automatic, because Karpenter schedules whole GPUs only; set provisioner: group"
        )
        yield Problem((*path, "sharing"), reason)


def _keys(path: tuple[str, ...], shape: Shape) -> Iterator[Problem]:
    for key in shape.args.labels:
        if len(LABEL) + len(key) > TAG_KEY_LIMIT:
            most = TAG_KEY_LIMIT - len(LABEL)
            yield Problem(
                (*path, "labels", key),
                f"the key has {len(key)} characters; shorten it to {most}, so that it fits into an AWS tag",
            )
    limit = min(_TAINT_KEY_LIMIT, TAG_KEY_LIMIT - len(TAINT))
    for index, taint in enumerate(shape.args.taints):
        if len(taint.key) > limit:
            reason = f"the key has {len(taint.key)} characters; shorten it to {limit}, the limit of EKS"
            yield Problem((*path, "taints", str(index), "key"), reason)
    if len(shape.declared_taints) > _TAINTS_LIMIT:
        yield Problem(
            (*path, "taints"),
            f"{len(shape.declared_taints)} taints are set; set at most {_TAINTS_LIMIT}, the limit of EKS",
        )
