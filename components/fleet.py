"""All node groups of a stack: resolved, checked against each other, and what pods need in order to run on them."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from components import node_room
from components.faults import Fault, Note, did_you_mean
from components.model import Resources
from components.node_group import (
    ACCELERATOR,
    FLAVOR,
    GROUP,
    NO_ACCELERATOR,
    PLUGIN_CONFIG,
    SIMULATED,
    SPOT_TAINTS,
    NodeGroupArgs,
    Shape,
    Taint,
    TaintArgs,
    keeps_out,
)
from components.node_shape import Site, resolve


@dataclass(frozen=True)
class Fleet:
    """The node groups by name. Empty on a cluster that brings its nodes."""

    groups: Mapping[str, Shape] = field(default_factory=dict)
    runtime_class: str | None = None
    """RuntimeClass of pods with GPUs, where containerd's default runtime knows none."""
    untold: frozenset[str] = frozenset()
    """Groups whose faults leave open what they are: nothing can be concluded from their absence."""

    @property
    def tolerations(self) -> list[dict[str, str]]:
        """What a DaemonSet needs to run on every node, whatever its taints: one toleration per declared taint."""
        keys = {(taint.key, taint.effect) for shape in self.groups.values() for taint in shape.taints}
        # A label that pods have to select is a taint as well: the cloud lets in by itself whatever selects it.
        keys |= {(label, "NoSchedule") for shape in self.groups.values() for label in shape.selector}
        return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in sorted(keys)]

    @property
    def gpus_max(self) -> int:
        """GPUs when every group is full."""
        return sum(s.accelerators_max for s in self.groups.values() if s.accelerator and s.accelerator.kind == "gpu")

    @property
    def hourly_usd_max(self) -> float | None:
        """Estimated price per hour when every group is full; None where one group's is not known."""
        prices = [shape.hourly_usd_max for shape in self.groups.values()]
        return None if None in prices else sum(price for price in prices if price is not None)

    def placement(
        self, resources: Resources, *, interruptible: bool, together: bool = False, queued: bool = False
    ) -> dict[str, Any]:
        """The parts of a pod's spec that lead it to its nodes and their GPUs, those that it needs.

        `together`: it computes every step with other pods, for which a card that takes turns will not do. `queued`:
        Kueue chooses the kind of machine, and must be told which one a named group is.
        """
        selector: dict[str, str] = {}
        if resources.accelerator:
            selector[ACCELERATOR] = resources.accelerator
        if resources.node_group:
            selector[GROUP] = resources.node_group
        if shape := self.groups.get(resources.node_group or ""):
            selector |= shape.selector
            if queued:
                selector[FLAVOR] = shape.flavor
        else:
            selector |= self._open_selectors.get(_wanted(resources), {})
            if queued and not resources.gpus and self._cards:
                # Kueue makes pods tolerate the machines that it gives them: what needs no GPU is to hold none.
                selector[ACCELERATOR] = NO_ACCELERATOR
        taints = self.tolerated(resources, interruptible=interruptible)
        found = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in sorted(taints)]
        whole = resources.gpus > 1 or (together and resources.gpus)
        among = [_WHOLE_GPUS] if whole and self._shares else []
        if queued and not resources.node_group:
            among += self._wide_enough(resources)
        parts = {
            "nodeSelector": selector,
            "tolerations": found,
            "affinity": _on_nodes(among) if among else None,
            "runtimeClassName": self.runtime_class if resources.gpus else None,
        }
        return {key: value for key, value in parts.items() if value}

    def tolerated(self, resources: Resources, *, interruptible: bool) -> set[tuple[str, str]]:
        """Key and effect of each taint that a pod tolerates."""
        taints = {_GPU_TAINT} if resources.gpus else set()
        if shape := self.groups.get(resources.node_group or ""):
            gpus = resources.gpus
            own = (taint for taint in shape.taints if _is_for(taint, shape, gpus, interruptible, named=True))
            taints |= {_told(taint) for taint in own}
            taints |= {(taint.key, taint.effect) for taint in shape.args.taints}
        else:
            taints |= self._open_taints.get((_wanted(resources), interruptible), set())
        return taints

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
        return {want: shapes[0].selector for want, shapes in self._having.items() if len(shapes) == 1}

    @cached_property
    def _having(self) -> Mapping[str, list[Shape]]:
        """The groups by what pods may want of them."""
        found: dict[str, list[Shape]] = defaultdict(list)
        for shape in self.groups.values():
            for want in _wants(shape):
                found[want].append(shape)
        return found

    @cached_property
    def _most(self) -> Mapping[tuple[str, bool], int]:
        """The most GPUs that a node offers to a pod which names no group, by its card and whether it is interruptible.

        Without an entry, the taints of every group keep it off.
        """
        found: dict[tuple[str, bool], int] = {}
        for want, shapes in self._having.items():
            for shape, interruptible in product(shapes, (False, True)):
                if not _keeping_off(shape, interruptible):
                    found[want, interruptible] = max(found.get((want, interruptible), 0), _offer(shape))
        return found

    def _wide_enough(self, resources: Resources) -> list[dict[str, Any]]:
        """Which kinds of machines have as many GPUs in a node as a pod asks for, where not all that it might get have.

        Quotas count GPUs: without this, Kueue gives a pod of 8 to nodes of 4, where it never starts.
        """
        most: dict[str, int] = {}
        for shape in self._having.get(_wanted(resources), ()) if resources.gpus else ():
            most[shape.flavor] = max(most.get(shape.flavor, 0), _offer(shape))
        wide = sorted(flavor for flavor, gpus in most.items() if gpus >= resources.gpus)
        return [{"key": FLAVOR, "operator": "In", "values": wide}] if 0 < len(wide) < len(most) else []

    @cached_property
    def _shares(self) -> bool:
        return any(shape.args.sharing for shape in self.groups.values())

    @cached_property
    def _cards(self) -> list[str]:
        shapes = (shape for shape in self.groups.values() if shape.accelerator and shape.accelerator.kind == "gpu")
        return sorted({shape.accelerator.name for shape in shapes if shape.accelerator})

    def check(
        self, resources: Resources, at: tuple[str, ...], *, interruptible: bool, together: bool = False
    ) -> Iterator[Fault]:
        """What a pod asks for and no group has, or none that lets it in. `together` as in `placement`."""
        if resources.accelerator and not resources.gpus:
            yield Fault((*at, "accelerator"), f"got {resources.accelerator} with gpus 0: need gpus, at least 1")
        elif resources.node_group:
            yield from self._check_named(resources.node_group, resources, at, interruptible)
            yield from self._check_turns({resources.node_group}, resources, at, together)
        elif self.groups and not self.untold and resources.gpus:
            yield from self._check_open(resources, at, interruptible)
            yield from self._check_turns({s.name for s in self._having[_wanted(resources)]}, resources, at, together)
        yield from node_room.faults(resources, at, self.taking(resources, interruptible=interruptible))

    def taken_whole(self, resources: Resources, *, interruptible: bool) -> list[Shape]:
        """The groups that such a pod gets into, where it takes all GPUs of the node in each; else none."""
        found = self.taking(resources, interruptible=interruptible) if resources.gpus else []
        return found if all(shape.per_node == resources.gpus for shape in found) else []

    def taking(self, resources: Resources, *, interruptible: bool) -> list[Shape]:
        """The groups that such a pod gets into."""
        if resources.node_group:
            return [shape] if (shape := self.groups.get(resources.node_group)) else []
        having = () if self.untold else self._having.get(_wanted(resources), ())
        return [s for s in having if not _keeping_off(s, interruptible) and resources.gpus <= _offer(s)]

    def _check_turns(
        self, groups: set[str], resources: Resources, at: tuple[str, ...], together: bool
    ) -> Iterator[Fault]:
        """Pods that compute every step together, where each of the groups shares its cards between pods."""
        found = [self.groups[name] for name in sorted(groups) if name in self.groups]
        if together and resources.gpus and found and all(shape.args.sharing for shape in found):
            names = ", ".join(shape.name for shape in found)
            key = "nodeGroup" if resources.node_group else "accelerator" if resources.accelerator else "gpus"
            reason = (
                f"the cards of {names} are shared between pods, and workers that compute every step together wait for"
                " the slowest turn: need a group without sharing, or strategy single"
            )
            yield Fault((*at, key), reason, given=(("nodeGroups",), at))

    def _check_named(
        self, name: str, resources: Resources, at: tuple[str, ...], interruptible: bool
    ) -> Iterator[Fault]:
        where, shape = (*at, "nodeGroup"), self.groups.get(name)
        if shape:
            yield from _check_group(shape, resources, at, interruptible)
        elif name not in self.untold and (self.groups or self.untold):
            known = sorted({*self.groups, *self.untold})
            reason = f"no node group named {name!r}, have {', '.join(known)}{did_you_mean(name, known)}"
            yield Fault(where, reason, given=(("nodeGroups",), at), lacks=("nodeGroups", name))

    def _check_open(self, resources: Resources, at: tuple[str, ...], interruptible: bool) -> Iterator[Fault]:
        card, given = resources.accelerator, (("nodeGroups",), at)
        if card and card not in self._cards:
            listed = f"groups have {', '.join(self._cards)}" if self._cards else "no group has GPUs"
            no_gpu = card in self._having
            reason = f"got {card}, and workloads run on GPUs" if no_gpu else f"no node group with {card!r}"
            yield Fault((*at, "accelerator"), f"{reason}, {listed}{did_you_mean(card, self._cards)}", given=given)
            return
        most = self._most.get((_wanted(resources), interruptible))
        if most is None and self._cards:
            keeping = (f"{s.name} ({_keeping_off(s, interruptible)})" for s in self._having[_wanted(resources)])
            reason = f"every node group with {card or 'GPUs'} keeps it off: {', '.join(keeping)}"
            yield Fault((*at, "accelerator" if card else "gpus"), reason, given=(*given, _resumes(at)))
        elif resources.gpus > (most or 0):
            yield _too_many(resources, card or "any node group", most or 0, at)

    def unreached(self, pods: Collection[tuple[str | None, bool]]) -> Iterator[Note]:
        """Groups that no workload of the stack can run on; jobs that are not in its settings may.

        `pods`: of each workload the group that it names, and whether it is interruptible.
        """
        named = {name for name, _ in pods}
        for name, shape in self.groups.items():
            path = ("nodeGroups", name)
            if shape.args.spot and not any(interruptible for _, interruptible in pods):
                reason = "no workload of this stack can run on spot nodes (only training jobs with checkpoints can)"
                yield Note((*path, "spot"), f"{reason}; the group is for other jobs")
            elif (taint := _own_taint(shape)) and name not in named:
                reason = f"no workload of this stack tolerates {taint.key}={taint.value}:{taint.effect}"
                yield Note((*path, "taints"), f"{reason}; one runs there if its resources say nodeGroup: {name}")


_ANY_CARD = "any"
# Parts of a shared GPU add up to no larger one, and the device plugin turns away who asks for two.
_WHOLE_GPUS = {"key": PLUGIN_CONFIG, "operator": "DoesNotExist"}
_GPU_TAINT = ("nvidia.com/gpu", "NoSchedule")


def _on_nodes(among: list[dict[str, Any]]) -> dict[str, Any]:
    """Keeps a pod to nodes of which all of this is true."""
    terms = [{"matchExpressions": among}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


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


def _own_taint(shape: Shape) -> TaintArgs | None:
    """The first taint of a group's own that keeps pods out; one that is a preference does not."""
    return next((taint for taint in shape.args.taints if keeps_out(taint)), None)


def _keeping_off(shape: Shape, interruptible: bool) -> str:
    """Why a pod that names no group does not get into this one, although it has what the pod wants; else nothing."""
    if shape.args.spot and not interruptible:
        return _SPOT_TAKES
    taint = _own_taint(shape)
    return f"taint {taint.key}, need nodeGroup: {shape.name}" if taint else ""


_SPOT_TAKES = "spot, and takes only training jobs with checkpoints"


def _check_group(shape: Shape, resources: Resources, at: tuple[str, ...], interruptible: bool) -> Iterator[Fault]:
    """Why a pod that names this group could never run there."""
    where, given = (*at, "nodeGroup"), (("nodeGroups",), at)
    card = shape.accelerator.name if shape.accelerator else NO_ACCELERATOR
    if resources.accelerator and resources.accelerator != card:
        reason = f"got {shape.name}, whose nodes have {card}: need a group with {resources.accelerator}"
        yield Fault(where, reason, given=given)
    elif shape.accelerator and shape.accelerator.kind != "gpu":
        yield Fault(where, f"got {shape.name}, whose nodes have {card}, and workloads run on GPUs or CPUs", given=given)
    elif shape.accelerator and not resources.gpus:
        reason = f"got {shape.name}, whose nodes take only pods with GPUs: need gpus, or a group without accelerator"
        yield Fault(where, reason, given=given)
    elif resources.gpus > (most := _offer(shape)):
        yield _too_many(resources, shape.name, most, at)
    if shape.args.spot and not interruptible:
        reason = f"got {shape.name}, which is {_SPOT_TAKES}: need checkpoints, or another group"
        yield Fault(where, reason, given=(*given, _resumes(at)))


def _resumes(at: tuple[str, ...]) -> tuple[str, ...]:
    """The setting by which a workload can be interrupted, beside its resources."""
    return (*at[:-1], "checkpoints")


def _is_for(taint: Taint, shape: Shape, gpus: int, interruptible: bool, *, named: bool = False) -> bool:
    """Whether a pod tolerates a taint because of what it is; those from the settings, it does for naming the group."""
    if shape.accelerator and taint.key == shape.accelerator.resource:
        return bool(gpus)
    if taint.key == SIMULATED:
        # A pod without GPUs that names no group is meant to run, and only the real node runs it.
        return named or bool(gpus)
    return taint.key in SPOT_TAINTS and interruptible


def _too_many(resources: Resources, where: str, most: int, at: tuple[str, ...]) -> Fault:
    reason = f"got {resources.gpus}, a node of {where} has {most}: no node could ever take the pod"
    return Fault((*at, "gpus"), reason, given=(("nodeGroups",), at))


def of(settings: Mapping[str, NodeGroupArgs], site: Site) -> tuple[Fleet, list[Fault]]:
    """The fleet that the settings come to, without the groups that cannot be told, and every fault in it."""
    found: list[Fault] = []
    shapes: dict[str, Shape] = {}
    for name, args in settings.items():
        shape, faults = resolve(name, args, site)
        found += faults
        if shape:
            shapes[name] = shape
    fleet = Fleet(shapes, untold=frozenset(settings) - set(shapes))
    return fleet, [*found, *_twins(fleet), *_kinds(fleet), *_system_pods(fleet, site)]


def _twins(fleet: Fleet) -> Iterator[Fault]:
    """Groups that the scheduler cannot tell apart: to have both is to have one of them by accident."""
    first: dict[object, str] = {}
    for name, shape in fleet.groups.items():
        other = first.setdefault(_identity(shape), name)
        if other != name:
            need = "need another machine, zones, label or taint, or one group for both"
            given = (("nodeGroups", name), ("nodeGroups", other))
            yield Fault(("nodeGroups", name), f"nothing tells it from {other}: {need}", given=given)


def _identity(shape: Shape) -> object:
    """What the scheduler sees of a group, and whose machines they are. The order of zones and taints says nothing."""
    labels = {key: value for key, value in shape.labels.items() if key not in (GROUP, FLAVOR)}
    machine = shape.machine.name if shape.machine else None
    args = shape.args
    seen = (machine, shape.per_node, args.topology, tuple(sorted(labels.items())))
    return (*seen, frozenset(shape.taints), frozenset(args.zones), args.reserved)


def _kinds(fleet: Fleet) -> Iterator[Fault]:
    """Groups that are a kind by their own name, where another group's card is called so: queues would mix them."""
    first: dict[str, Shape] = {}
    for shape in fleet.groups.values():
        other = first.setdefault(shape.flavor, shape)
        if _kind(other) != _kind(shape):
            named, like = (shape, other) if _own_taint(shape) else (other, shape)
            given = (("nodeGroups", shape.name), ("nodeGroups", other.name))
            reason = f"with its taint it is the kind {shape.flavor}, and so is {like.name}: need another name"
            yield Fault(("nodeGroups", named.name), reason, given=given)


def _kind(shape: Shape) -> object:
    """What makes nodes a kind of machine."""
    card = shape.accelerator
    return (card, card and shape.args.spot, shape.args.sharing, shape.name if _own_taint(shape) else None)


def _system_pods(fleet: Fleet, site: Site) -> Iterator[Fault]:
    """A cluster's own pods, such as its DNS, tolerate nothing: a new cluster needs nodes for them."""
    if site.cloud is None or not fleet.groups or fleet.untold:
        return
    if not any(not _keeping_out(shape) and shape.args.min > 0 for shape in fleet.groups.values()):
        reason = (
            "no group for the cluster's own pods: need one without accelerator, spot and taints, with min at least 1"
        )
        yield Fault(("nodeGroups",), reason, given=(("nodeGroups",),))


def _keeping_out(shape: Shape) -> bool:
    return any(keeps_out(taint) for taint in shape.taints)
