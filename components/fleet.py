"""All node groups of a stack: resolved, checked against each other, and what pods need in order to run on them."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from components.faults import Fault, did_you_mean
from components.model import Resources
from components.node_group import (
    ACCELERATOR,
    GROUP,
    NO_ACCELERATOR,
    PLUGIN_CONFIG,
    SIMULATED,
    SPOT,
    NodeGroupArgs,
    Shape,
    Taint,
)
from components.node_shape import Site, resolve


@dataclass(frozen=True)
class Fleet:
    """The node groups by name. Empty on a cluster that brings its nodes."""

    groups: Mapping[str, Shape] = field(default_factory=dict)
    runtime_class: str | None = None
    """RuntimeClass of pods with GPUs, where containerd's default runtime knows none."""

    @property
    def tolerations(self) -> list[dict[str, str]]:
        """What a DaemonSet needs to run on every node, whatever its taints: one toleration per declared taint."""
        keys = sorted({(taint.key, taint.effect) for shape in self.groups.values() for taint in shape.taints})
        return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in keys]

    @property
    def gpus_max(self) -> int:
        """GPUs when every group is full."""
        return sum(s.accelerators_max for s in self.groups.values() if s.accelerator and s.accelerator.kind == "gpu")

    @property
    def hourly_usd_max(self) -> float | None:
        """Estimated price per hour when every group is full; None where one group's is not known."""
        prices = [shape.hourly_usd_max for shape in self.groups.values()]
        return None if None in prices else sum(price for price in prices if price is not None)

    def placement(self, resources: Resources, *, interruptible: bool) -> dict[str, Any]:
        """The parts of a pod's spec that lead it to its nodes and their GPUs, those that it needs."""
        selector: dict[str, str] = {}
        if resources.accelerator:
            selector[ACCELERATOR] = resources.accelerator
        if resources.node_group:
            selector[GROUP] = resources.node_group
        taints = {_GPU_TAINT} if resources.gpus else set()
        if shape := self.groups.get(resources.node_group or ""):
            gpus = resources.gpus
            own = (taint for taint in shape.taints if _is_for(taint, shape, gpus, interruptible, named=True))
            taints |= {_told(taint) for taint in own}
            taints |= {(taint.key, taint.effect) for taint in shape.args.taints}
            selector |= shape.selector
        else:
            selector |= self._open_selectors.get(_wanted(resources), {})
            taints |= self._open_taints.get((_wanted(resources), interruptible), set())
        found = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in sorted(taints)]
        parts = {
            "nodeSelector": selector,
            "tolerations": found,
            "affinity": _WHOLE_GPUS if resources.gpus > 1 and self._shares else None,
            "runtimeClassName": self.runtime_class if resources.gpus else None,
        }
        return {key: value for key, value in parts.items() if value}

    @cached_property
    def _open_taints(self) -> Mapping[tuple[str, bool], set[tuple[str, str]]]:
        """What pods tolerate that name no group, by the card that they want and whether they can be interrupted."""
        found: dict[tuple[str, bool], set[tuple[str, str]]] = defaultdict(set)
        for shape in self.groups.values():
            for want, interruptible in product(_wants(shape), (False, True)):
                gpus = shape.per_node
                own = {_told(taint) for taint in shape.taints if _is_for(taint, shape, gpus, interruptible)}
                found[want, interruptible] |= own
        return found

    @cached_property
    def _open_selectors(self) -> Mapping[str, Mapping[str, str]]:
        """What pods that name no group select, by the card that they want: where one group has it, what leads there."""
        found: dict[str, list[Mapping[str, str]]] = defaultdict(list)
        for shape in self.groups.values():
            for want in _wants(shape):
                found[want].append(shape.selector)
        return {want: selectors[0] for want, selectors in found.items() if len(selectors) == 1}

    @cached_property
    def _most(self) -> Mapping[str, int]:
        """The most GPUs that one node offers to one pod, by the card that pods want."""
        found: dict[str, int] = {}
        for shape in self.groups.values():
            for want in _wants(shape):
                found[want] = max(found.get(want, 0), _offer(shape))
        return found

    @cached_property
    def _shares(self) -> bool:
        return any(shape.args.sharing for shape in self.groups.values())

    @cached_property
    def _cards(self) -> list[str]:
        return sorted({shape.accelerator.name for shape in self.groups.values() if shape.accelerator})

    def check(self, resources: Resources, at: tuple[str, ...]) -> Iterator[Fault]:
        """What a pod asks for and no group has."""
        if resources.accelerator and not resources.gpus:
            yield Fault((*at, "accelerator"), f"got {resources.accelerator} with gpus 0: need gpus, at least 1")
        if not self.groups:
            return
        if resources.accelerator and resources.accelerator not in self._cards:
            listed = f"groups have {', '.join(self._cards)}" if self._cards else "no group has one"
            reason = f"no node group with {resources.accelerator!r}, {listed}"
            near = did_you_mean(resources.accelerator, self._cards)
            yield Fault((*at, "accelerator"), reason + near, given=(("nodeGroups",),))
        elif resources.node_group and resources.node_group not in self.groups:
            near = did_you_mean(resources.node_group, self.groups)
            reason = f"no node group named {resources.node_group!r}, have {', '.join(sorted(self.groups))}{near}"
            yield Fault((*at, "nodeGroup"), reason, given=(("nodeGroups",),))
        elif resources.node_group:
            yield from self._check_group(self.groups[resources.node_group], resources, at)
        elif resources.gpus > (most := self._most.get(_wanted(resources), 0)):
            yield _too_many(resources, resources.accelerator or "any node group", most, at)

    def _check_group(self, shape: Shape, resources: Resources, at: tuple[str, ...]) -> Iterator[Fault]:
        card = shape.accelerator.name if shape.accelerator else NO_ACCELERATOR
        if resources.accelerator and resources.accelerator != card:
            reason = f"got {shape.name}, whose nodes have {card}: need a group with {resources.accelerator}"
            yield Fault((*at, "nodeGroup"), reason, given=(("nodeGroups",),))
        elif resources.gpus > (most := _offer(shape)):
            yield _too_many(resources, shape.name, most, at)

    def check_reach(self, named: Collection[str | None]) -> Iterator[Fault]:
        """Groups with taints of their own that no workload names: nothing of the stack could ever run there."""
        for name, shape in self.groups.items():
            if shape.args.taints and name not in named:
                taint = shape.args.taints[0]
                yield Fault(
                    ("nodeGroups", name, "taints"),
                    f"no workload tolerates {taint.key}={taint.value}:{taint.effect}: name the group in a workload's "
                    f"resources (nodeGroup: {name}), or leave the taint out",
                    given=(("workloads",),),
                )


_ANY_CARD = "any"
# Parts of a shared GPU add up to no larger one, and the device plugin turns away who asks for two.
_WHOLE_GPUS = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": PLUGIN_CONFIG, "operator": "DoesNotExist"}]}]
        }
    }
}
_GPU_TAINT = ("nvidia.com/gpu", "NoSchedule")


def _wants(shape: Shape) -> tuple[str, ...]:
    """What pods may want that this group has."""
    if shape.accelerator is None:
        return (NO_ACCELERATOR,)
    return (shape.accelerator.name, _ANY_CARD) if shape.accelerator.kind == "gpu" else (shape.accelerator.name,)


def _offer(shape: Shape) -> int:
    """The most accelerators that one pod can get of a node."""
    return 1 if shape.args.sharing else shape.per_node


def _wanted(resources: Resources) -> str:
    return (resources.accelerator or _ANY_CARD) if resources.gpus else NO_ACCELERATOR


def _told(taint: Taint) -> tuple[str, str]:
    return taint.key, taint.effect


def _is_for(taint: Taint, shape: Shape, gpus: int, interruptible: bool, *, named: bool = False) -> bool:
    """Whether a pod tolerates a taint because of what it is; those from the settings, it does for naming the group."""
    if shape.accelerator and taint.key == shape.accelerator.resource:
        return bool(gpus)
    if taint.key == SIMULATED:
        # A pod without GPUs that names no group is meant to run, and only the real node runs it.
        return named or bool(gpus)
    return taint.key == SPOT and interruptible


def _too_many(resources: Resources, where: str, most: int, at: tuple[str, ...]) -> Fault:
    reason = f"got {resources.gpus}, a node of {where} has {most}: no node could ever take the pod"
    return Fault((*at, "gpus"), reason, given=(("nodeGroups",),))


def of(settings: Mapping[str, NodeGroupArgs], site: Site) -> tuple[Fleet, list[Fault]]:
    """The fleet that the settings come to, without the groups that cannot be told, and every fault in it."""
    found: list[Fault] = []
    shapes: dict[str, Shape] = {}
    for name, args in settings.items():
        shape, faults = resolve(name, args, site)
        found += faults
        if shape:
            shapes[name] = shape
    fleet = Fleet(shapes)
    return fleet, [*found, *_twins(fleet), *_system_pods(fleet, site)]


def _twins(fleet: Fleet) -> Iterator[Fault]:
    """Groups that the scheduler cannot tell apart: to have both is to have one of them by accident."""
    first: dict[object, str] = {}
    for name, shape in fleet.groups.items():
        other = first.setdefault(_identity(shape), name)
        if other != name:
            yield Fault(
                ("nodeGroups", name),
                f"nothing tells it from {other}: need another machine, zones, label or taint, or one group for both",
                given=(("nodeGroups", other),),
            )


def _identity(shape: Shape) -> object:
    labels = {key: value for key, value in shape.labels.items() if key != GROUP}
    machine = shape.machine.name if shape.machine else None
    args = shape.args
    return (machine, shape.per_node, tuple(sorted(labels.items())), shape.taints, args.zones, args.reserved)


def _system_pods(fleet: Fleet, site: Site) -> Iterator[Fault]:
    """A cluster's own pods, such as its DNS, tolerate nothing: a new cluster needs nodes for them."""
    if site.cloud is None or not fleet.groups:
        return
    if not any(not shape.taints and shape.args.min > 0 for shape in fleet.groups.values()):
        yield Fault(
            ("nodeGroups",),
            "no group for the cluster's own pods: need one without accelerator, spot and taints, with min at least 1",
        )
