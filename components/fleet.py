"""All node groups of a stack: resolved, checked against each other, and what pods need in order to run on them."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from components.faults import Fault, did_you_mean
from components.model import Resources
from components.node_group import ACCELERATOR, GROUP, SPOT, NodeGroupArgs, Shape, Taint
from components.node_shape import Site, resolve


@dataclass(frozen=True)
class Fleet:
    """The node groups by name. Empty on a cluster that brings its nodes."""

    groups: Mapping[str, Shape] = field(default_factory=dict)

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
        """The parts of a pod's spec that lead it to its nodes: `nodeSelector` and `tolerations`, where needed."""
        selector = {}
        if resources.accelerator:
            selector[ACCELERATOR] = resources.accelerator
        if resources.node_group:
            selector[GROUP] = resources.node_group
        taints = {
            (t.key, t.effect)
            for s in self._usable(resources)
            for t in s.taints
            if _tolerable(t, s, resources, interruptible)
        }
        if resources.gpus:
            taints.add(("nvidia.com/gpu", "NoSchedule"))
        found = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in sorted(taints)]
        return {key: value for key, value in (("nodeSelector", selector), ("tolerations", found)) if value}

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

    def _usable(self, resources: Resources) -> Iterator[Shape]:
        """The groups that a pod may be meant for. Without an accelerator, that is no group that has one."""
        for name, shape in self.groups.items():
            card = shape.accelerator.name if shape.accelerator else None
            named = resources.node_group in (None, name)
            wanted = card is None if not resources.gpus else card is not None
            if named and wanted and resources.accelerator in (None, card):
                yield shape

    def check(self, resources: Resources, at: tuple[str, ...]) -> Iterator[Fault]:
        """What a pod asks for and no group has."""
        if resources.accelerator and not resources.gpus:
            yield Fault((*at, "accelerator"), f"got {resources.accelerator} with gpus 0: need gpus, at least 1")
        if not self.groups:
            return
        cards = sorted({s.accelerator.name for s in self.groups.values() if s.accelerator})
        if resources.accelerator and resources.accelerator not in cards:
            listed = f"groups have {', '.join(cards)}" if cards else "no group has one"
            near = did_you_mean(resources.accelerator, cards)
            yield Fault(
                (*at, "accelerator"),
                f"no node group with {resources.accelerator!r}, {listed}{near}",
                given=(("nodeGroups",),),
            )
        if resources.node_group and resources.node_group not in self.groups:
            near = did_you_mean(resources.node_group, self.groups)
            reason = f"no node group named {resources.node_group!r}, have {', '.join(sorted(self.groups))}{near}"
            yield Fault((*at, "nodeGroup"), reason, given=(("nodeGroups",),))
            return
        yield from self._check_size(resources, at)

    def _check_size(self, resources: Resources, at: tuple[str, ...]) -> Iterator[Fault]:
        if not resources.gpus or (resources.accelerator and resources.accelerator not in self._cards()):
            return
        most = max((sum(shape.resources.values()) for shape in self._usable(resources)), default=0)
        if resources.gpus > most:
            where = resources.node_group or resources.accelerator or "any node group"
            reason = f"got {resources.gpus}, a node of {where} has {most}: no node could ever take the pod"
            yield Fault((*at, "gpus"), reason, given=(("nodeGroups",),))

    def _cards(self) -> set[str]:
        return {shape.accelerator.name for shape in self.groups.values() if shape.accelerator}


def _tolerable(taint: Taint, shape: Shape, resources: Resources, interruptible: bool) -> bool:
    """The group's own taints are tolerated by those that it is for; further ones, by those that name the group."""
    if shape.accelerator and taint.key == shape.accelerator.resource:
        return bool(resources.gpus)
    if taint.key == SPOT:
        return interruptible
    return resources.node_group == shape.name


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
