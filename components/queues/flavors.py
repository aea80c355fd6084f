"""Kinds of machines as queues see them, out of the node groups: what leads pods there, and how much there can be."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from components import catalog
from components.base.labels import ACCELERATOR, FLAVOR, NO_ACCELERATOR, PLUGIN_CONFIG
from components.node_groups import node_size
from components.node_groups.fleet import Fleet
from components.node_groups.labels import CPU
from components.node_groups.shape import Shape
from components.node_groups.taint import Taint, keeps_out
from components.queues import topology

ANY = "any"
"""The one flavor of a cluster whose nodes nobody describes."""


@dataclass(frozen=True)
class Share:
    """What comes with each GPU: its part of the node's processors and memory."""

    cpus: float
    memory_gib: float


@dataclass(frozen=True)
class Flavor:
    """One kind of machine: what makes it, for pods, another kind than the rest."""

    name: str
    labels: Mapping[str, str]
    """What nodes of this kind have and no others: Kueue makes the pods select them."""
    taints: tuple[Taint, ...]
    """What pods must tolerate to be admitted to it: no taints that are mere preferences."""
    resource: str | None
    """The extended resource that it has; None without accelerators."""
    tolerations: tuple[Taint, ...] = ()
    """The taints that its nodes have because of what they are, such as their GPUs: Kueue makes the pods that it admits
    tolerate them. Spot machines and taints of a group's settings are the job's own choice."""
    age: tuple[int, ...] = ()
    """Orders kinds from old cards to new ones; a spot or a shared one comes before the whole one of the same card."""
    gpus_max: int | None = None
    """GPUs when each of its groups is full, shared ones once for each pod; None where nobody tells."""
    cpus_max: float | None = None
    memory_gib_max: float | None = None
    share: Share | None = None
    """None where nobody knows the machine: then processors and memory are not rationed beside the GPUs."""
    per_pod: int = 0
    """The most GPUs that one pod can get."""
    shared: bool = False
    spot: bool = False
    levels: tuple[str, ...] = ()
    """Labels of the network's levels, from wide to narrow, by which Kueue places pods; none: the scheduler does."""

    @property
    def object_name(self) -> str:
        """What its ResourceFlavor is called after the stack's name. With levels, neither they nor the tolerations can
        ever change, and so both are in it."""
        if not self.levels:
            return self.name
        return f"{self.name}-{topology.mark((*self.levels, *map(str, self.tolerations)))}"

    @property
    def counted(self) -> tuple[str, ...]:
        """By which names settings count it: cores as `cpu`, GPUs as its own. Nodes that nobody describes have both."""
        return (CPU, ANY) if self.name == ANY else (self.name,)

    @property
    def is_gpu(self) -> bool:
        return self.resource is not None

    def is_card(self, accelerator: str) -> bool:
        """Whether its nodes have this card."""
        return self.labels.get(ACCELERATOR) == accelerator


def of(fleet: Fleet, *, own_nodes: bool, levels: tuple[str, ...] = ()) -> dict[str, Flavor]:
    """The flavors by name, CPUs first, then from the oldest card to the newest.

    TPUs are no part of queues, nor are nodes without accelerators that keep others off: who names them gets in.

    `own_nodes`: whether the cluster runs pods without accelerators on nodes of its own, beside the groups. `levels`:
    labels of the network's levels for nodes with GPUs.
    """
    if not fleet.groups:
        return {ANY: Flavor(ANY, {}, (), None)}
    kinds: dict[str, list[Shape]] = {}
    for shape in fleet.groups.values():
        if shape.flavor == CPU or shape.resources.get(catalog.GPU_RESOURCE):
            kinds.setdefault(shape.flavor, []).append(shape)
    found = {name: _flavor(name, shapes, levels) for name, shapes in kinds.items()}
    if own_nodes:
        found[CPU] = Flavor(CPU, _cpu_labels(CPU), (), None)
    return {flavor.name: flavor for flavor in sorted(found.values(), key=lambda flavor: (flavor.age, flavor.name))}


def _flavor(name: str, shapes: Sequence[Shape], levels: tuple[str, ...]) -> Flavor:
    first = shapes[0]
    sizes = [node_size.of(shape) for shape in shapes]
    known = [size for size in sizes if size]
    whole = len(known) == len(sizes)
    counts = [shape.args.max for shape in shapes]
    taints = tuple(taint for taint in _common(shapes) if keeps_out(taint))
    if first.accelerator is None:
        return Flavor(
            name,
            _cpu_labels(name),
            taints,
            None,
            cpus_max=sum(size.cpus * count for size, count in zip(known, counts, strict=True)) if whole else None,
            memory_gib_max=(
                sum(size.memory_gib * count for size, count in zip(known, counts, strict=True)) if whole else None
            ),
        )
    card = first.accelerator
    gpus = [shape.resources[card.resource] for shape in shapes]
    labels = {FLAVOR: name, ACCELERATOR: card.name}
    if first.args.sharing:
        labels[PLUGIN_CONFIG] = first.labels[PLUGIN_CONFIG]
    return Flavor(
        name,
        labels,
        taints,
        card.resource,
        tolerations=_by_nature(taints, shapes),
        age=(
            1 + list(catalog.ACCELERATORS).index(card.name),
            0 if first.args.sharing else 1,
            0 if first.args.spot else 1,
        ),
        gpus_max=sum(each * count for each, count in zip(gpus, counts, strict=True)),
        share=_share([(size, each) for size, each in zip(known, gpus, strict=True)]) if whole else None,
        per_pod=1 if first.args.sharing else max(gpus),
        shared=first.args.sharing is not None,
        spot=first.args.spot,
        levels=levels,
    )


def _by_nature(taints: Iterable[Taint], shapes: Iterable[Shape]) -> tuple[Taint, ...]:
    """The taints that say nothing of who may come: a job in a queue that has these machines may."""
    declared = {(taint.key, taint.effect) for shape in shapes for taint in shape.args.taints}
    return tuple(t for t in taints if not t.spot and (t.key, t.effect) not in declared)


def _cpu_labels(name: str) -> dict[str, str]:
    return {FLAVOR: name, ACCELERATOR: NO_ACCELERATOR}


def _common(shapes: Iterable[Shape]) -> list[Taint]:
    """The taints that each of the groups has: a pod that tolerates them runs on one of the groups at least."""
    first, *others = shapes
    return [taint for taint in first.taints if all(taint in other.taints for other in others)]


def _share(nodes: Iterable[tuple[node_size.NodeSize, int]]) -> Share:
    """The part that every node of the kind has for each of its GPUs."""
    parts = [(size.cpus / gpus, size.memory_gib / gpus) for size, gpus in nodes]
    return Share(min(cpus for cpus, _ in parts), min(memory for _, memory in parts))
