"""The flavors of queues, derived from the node groups: node labels, taints and capacity."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tensorplane.components import catalog
from tensorplane.components.base.labels import ACCELERATOR, FLAVOR, NO_ACCELERATOR, PLUGIN_CONFIG
from tensorplane.components.base.price import NodePrice
from tensorplane.components.node_groups import node_size
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.labels import CPU
from tensorplane.components.node_groups.shape import Shape
from tensorplane.components.node_groups.taint import Taint, blocks_scheduling
from tensorplane.components.queues import topology

ANY = "any"
"""The only flavor of a cluster without nodeGroups."""


@dataclass(frozen=True)
class Share:
    """CPU cores and memory of a node per GPU."""

    cpus: float
    memory_gib: float

    def times(self, gpus: int) -> "Share":
        """What comes with so many GPUs."""
        return Share(self.cpus * gpus, self.memory_gib * gpus)


@dataclass(frozen=True)
class Flavor:
    """One ResourceFlavor: nodes that are interchangeable for pods."""

    name: str
    labels: Mapping[str, str]
    """Labels that only nodes of this flavor have; Kueue adds them to the node selector of pods."""
    taints: tuple[Taint, ...]
    """Taints that pods must tolerate to be admitted, without those of effect PreferNoSchedule."""
    resource: str | None
    """Its extended resource; None without accelerators."""
    tolerations: tuple[Taint, ...] = ()
    """Taints of its nodes for which Kueue adds tolerations to admitted pods, such as those of GPUs. For spot nodes and
    taints in a group's settings, the job has tolerations of its own."""
    age: tuple[int, ...] = ()
    """Sort key, from the oldest accelerator to the newest; spot and shared GPUs come before others of one model."""
    gpus_max: int | None = None
    """GPUs of the full node groups, a shared GPU once per pod; None if unknown."""
    cpus_max: float | None = None
    memory_gib_max: float | None = None
    share: Share | None = None
    """None if the machine is unknown: the quota of CPU and memory is then unlimited."""
    per_pod: int = 0
    """GPUs of the largest node: the most that one pod can get."""
    shared: bool = False
    spot: bool = False
    levels: tuple[str, ...] = ()
    """Node labels of the topology's levels, from wide to narrow; empty without topology-aware scheduling."""
    prices: tuple[NodePrice, ...] = ()
    """Those of its node groups, different ones; empty if one is unknown."""

    @property
    def object_name(self) -> str:
        """Name of the ResourceFlavor, without the stack's. With a topology, levels and tolerations are immutable, so
        the name has a hash of both."""
        if not self.levels:
            return self.name
        return f"{self.name}-{topology.suffix((*self.levels, *map(str, self.tolerations)))}"

    @property
    def quota_keys(self) -> tuple[str, ...]:
        """Keys of its quotas in the settings: `cpu` for cores, else its own name. Without nodeGroups it has both."""
        return (CPU, ANY) if self.name == ANY else (self.name,)

    @property
    def is_gpu(self) -> bool:
        return self.resource is not None

    def has_accelerator(self, accelerator: str) -> bool:
        """Whether its nodes have this accelerator."""
        return self.labels.get(ACCELERATOR) == accelerator


def of(fleet: Fleet, *, own_nodes: bool, levels: tuple[str, ...] = ()) -> dict[str, Flavor]:
    """The flavors by name, CPUs first, then from the oldest accelerator to the newest.

    Queues have no quota of TPUs, nor of tainted nodes without accelerators, which pods select by node group.

    `own_nodes`: whether the cluster has nodes for pods without accelerators in addition to the groups. `levels`: node
    labels of the topology's levels, for nodes with GPUs.
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
    all_known = len(known) == len(sizes)
    counts = [shape.args.max for shape in shapes]
    taints = tuple(taint for taint in _common(shapes) if blocks_scheduling(taint))
    if first.accelerator is None:
        return Flavor(
            name,
            _cpu_labels(name),
            taints,
            None,
            cpus_max=sum(size.cpus * count for size, count in zip(known, counts, strict=True)) if all_known else None,
            memory_gib_max=(
                sum(size.memory_gib * count for size, count in zip(known, counts, strict=True)) if all_known else None
            ),
            prices=_prices(shapes),
        )
    accelerator = first.accelerator
    gpus = [shape.resources[accelerator.resource] for shape in shapes]
    labels = {FLAVOR: name, ACCELERATOR: accelerator.name}
    if first.args.sharing:
        labels[PLUGIN_CONFIG] = first.labels[PLUGIN_CONFIG]
    return Flavor(
        name,
        labels,
        taints,
        accelerator.resource,
        tolerations=_by_nature(taints, shapes),
        age=(
            1 + list(catalog.ACCELERATORS).index(accelerator.name),
            0 if first.args.sharing else 1,
            0 if first.args.spot else 1,
        ),
        gpus_max=sum(each * count for each, count in zip(gpus, counts, strict=True)),
        share=_share([(size, each) for size, each in zip(known, gpus, strict=True)]) if all_known else None,
        per_pod=1 if first.args.sharing else max(gpus),
        shared=first.args.sharing is not None,
        spot=first.args.spot,
        levels=levels,
        prices=_prices(shapes),
    )


def _prices(shapes: Iterable[Shape]) -> tuple[NodePrice, ...]:
    found = [shape.price for shape in shapes]
    return tuple(dict.fromkeys(price for price in found if price)) if all(found) else ()


def _by_nature(taints: Iterable[Taint], shapes: Iterable[Shape]) -> tuple[Taint, ...]:
    """The taints of a flavor that are not from a group's settings or spot nodes: admitted jobs may ignore them."""
    declared = {(taint.key, taint.effect) for shape in shapes for taint in shape.args.taints}
    return tuple(t for t in taints if not t.spot and (t.key, t.effect) not in declared)


def _cpu_labels(name: str) -> dict[str, str]:
    return {FLAVOR: name, ACCELERATOR: NO_ACCELERATOR}


def _common(shapes: Iterable[Shape]) -> list[Taint]:
    """The taints that all groups have. A pod that tolerates them can run on at least one group."""
    first, *others = shapes
    return [taint for taint in first.taints if all(taint in other.taints for other in others)]


def _share(nodes: Iterable[tuple[node_size.NodeSize, int]]) -> Share:
    """The smallest share of all groups."""
    parts = [(size.cpus / gpus, size.memory_gib / gpus) for size, gpus in nodes]
    return Share(min(cpus for cpus, _ in parts), min(memory for _, memory in parts))
