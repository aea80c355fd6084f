"""What is wrong with node groups on EKS, beyond what is wrong with them on every cloud."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from components import catalog
from components.eks.placement import zones_of
from components.eks.scale_from_zero_tags import LABEL, TAG_KEY_LIMIT, TAINT
from components.faults import Fault, did_you_mean
from components.node_group import Shape

if TYPE_CHECKING:
    from components.cluster.eks import Eks

_NAME_LIMIT = 63
_GIVEN = (("cluster", "zones"), ("cluster", "network"), ("cluster", "region"))
_ADDED_TO_NAMES = 8
_TAINT_KEY_LIMIT = 63
_TAINTS_LIMIT = 50


def faults(args: "Eks", groups: Mapping[str, Shape]) -> Iterator[Fault]:
    """Every fault, a line each."""
    for name, shape in groups.items():
        path = ("nodeGroups", name)
        room = _NAME_LIMIT - _ADDED_TO_NAMES
        if len(name) > room:
            reason = f"the name has {len(name)} characters, at most {room} leave room for what is added to it"
            yield Fault(path, reason)
        yield from _zones(path, args, shape)
        yield from _capacity(path, shape)
        yield from _automatic(path, shape)
        yield from _keys(path, shape)


def _zones(path: tuple[str, ...], args: "Eks", shape: Shape) -> Iterator[Fault]:
    setting = "cluster.network.subnets" if args.network.subnets else "cluster.zones"
    listed = ", ".join(args.subnet_zones)
    outside = [zone for zone in shape.args.zones if zone not in args.subnet_zones]
    # One that the region has not is refused for every cloud.
    known = catalog.zones("eks", args.region)
    for zone in (zone for zone in outside if not known or zone in known):
        near = did_you_mean(zone, args.subnet_zones)
        reason = f"{zone} is no zone of the cluster, which has {listed}{near}: need one of them, or {zone} in {setting}"
        yield Fault((*path, "zones"), reason, given=_GIVEN)
    if not outside and shape.machine and not zones_of(shape, args.subnet_zones, args.region):
        reason = f"no zone of the cluster sells {shape.machine.name}, which has {listed}: need one in {setting}"
        yield Fault(path, reason, given=_GIVEN)


def _capacity(path: tuple[str, ...], shape: Shape) -> Iterator[Fault]:
    reserved = shape.args.reserved
    if reserved is None:
        return
    if not reserved.id.startswith("cr-"):
        yield Fault((*path, "reserved", "id"), f"got {reserved.id!r}, need a capacity reservation's id: cr-…")
    if len(shape.args.zones) != 1:
        yield Fault((*path, "zones"), "a reservation is of one zone: need that zone alone")
    if reserved.capacity_block and not shape.accelerator:
        yield Fault((*path, "reserved", "capacityBlock"), "true on a group without accelerator: need false")


def _automatic(path: tuple[str, ...], shape: Shape) -> Iterator[Fault]:
    if shape.args.provisioner == "automatic" and shape.args.min:
        reason = f"got {shape.args.min} with provisioner automatic, which starts nodes as pods need them: need 0"
        yield Fault((*path, "min"), reason)
    if shape.args.provisioner == "automatic" and shape.args.sharing:
        # It counts the cards of a machine, and would start a machine for each pod that takes a part of one.
        reason = "given with provisioner automatic, and Karpenter knows whole GPUs only; set provisioner: group"
        yield Fault((*path, "sharing"), reason)


def _keys(path: tuple[str, ...], shape: Shape) -> Iterator[Fault]:
    for key in shape.args.labels:
        if len(LABEL) + len(key) > TAG_KEY_LIMIT:
            room = TAG_KEY_LIMIT - len(LABEL)
            yield Fault((*path, "labels", key), f"has {len(key)} characters, AWS' tag of it has room for {room}")
    limit = min(_TAINT_KEY_LIMIT, TAG_KEY_LIMIT - len(TAINT))
    for index, taint in enumerate(shape.args.taints):
        if len(taint.key) > limit:
            reason = f"has {len(taint.key)} characters, EKS takes at most {limit}"
            yield Fault((*path, "taints", str(index), "key"), reason)
    if len(shape.declared_taints) > _TAINTS_LIMIT:
        yield Fault((*path, "taints"), f"{len(shape.declared_taints)} of them, EKS takes at most {_TAINTS_LIMIT}")
