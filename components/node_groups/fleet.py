"""All node groups of a stack, and which of them a pod can run on."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

from tensorplane.components.base.model import Resources, Tier
from tensorplane.components.base.problems import Problem
from tensorplane.components.node_groups.checks import fleet as fleet_checks
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.matching import keeping_off, most_per_pod, offered, requested, tolerated_taints
from tensorplane.components.node_groups.resolve import resolve
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.components.node_groups.shape import Shape


@dataclass(frozen=True)
class Fleet:
    """The node groups by name. Empty for an existing cluster without `nodeGroups`."""

    groups: Mapping[str, Shape] = field(default_factory=dict)
    runtime_class: str | None = None
    """RuntimeClass of pods with GPUs, if containerd's default runtime does not support them."""
    unresolved: frozenset[str] = frozenset()
    """Groups that failed validation; checks that depend on them are skipped."""

    @property
    def tolerations(self) -> list[dict[str, str]]:
        """Tolerations of a DaemonSet that runs on every node: one per declared taint."""
        keys = {(taint.key, taint.effect) for shape in self.groups.values() for taint in shape.taints}
        # A required label is also a taint, which the cloud tolerates for pods that select it.
        keys |= {(label, "NoSchedule") for shape in self.groups.values() for label in shape.selector}
        return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in sorted(keys)]

    @property
    def gpus_max(self) -> int:
        """GPUs of the full node groups."""
        having = (s for s in self.groups.values() if s.accelerator and s.accelerator.counts_as_gpu)
        return sum(shape.accelerators_max for shape in having)

    @property
    def hourly_usd_max(self) -> float | None:
        """Estimated price per hour of the full node groups; None if the price of one is unknown."""
        prices = [shape.hourly_usd_max for shape in self.groups.values()]
        return None if None in prices else round(sum(price for price in prices if price is not None), 4)

    def offering(self, resources: Resources) -> list[Shape]:
        """The groups whose nodes meet a pod's accelerator request, or that of no accelerator."""
        requests = requested(resources)
        found = {shape.name: shape for request in requests for shape in self._by_request.get(request, [])}
        return list(found.values())

    @cached_property
    def _by_request(self) -> Mapping[str, list[Shape]]:
        found: dict[str, list[Shape]] = defaultdict(list)
        for shape in self.groups.values():
            for request in offered(shape):
                found[request].append(shape)
        return dict(found)

    @cached_property
    def open_taints(self) -> Mapping[tuple[str, bool], set[tuple[str, str]]]:
        """The taints that a pod without a node group tolerates, by its request and whether it is interruptible."""
        found: dict[tuple[str, bool], set[tuple[str, str]]] = defaultdict(set)
        for request, shapes in self._by_request.items():
            for shape, interruptible in product(shapes, (False, True)):
                found[request, interruptible] |= tolerated_taints(shape, shape.per_node, interruptible)
        return dict(found)

    def taken_whole(self, resources: Resources, *, interruptible: bool) -> list[Shape]:
        """The groups that a pod can run on, if it takes all GPUs of a node in each of them; else empty."""
        found = self.taking(resources, interruptible=interruptible) if resources.gpus else []
        return found if all(shape.per_node == resources.gpus for shape in found) else []

    def taking(self, resources: Resources, *, interruptible: bool) -> list[Shape]:
        """The groups that a pod can run on."""
        if resources.node_group:
            return [shape] if (shape := self.groups.get(resources.node_group)) else []
        having = () if self.unresolved else self.offering(resources)
        return [s for s in having if not keeping_off(s, interruptible) and resources.gpus <= most_per_pod(s)]

    @cached_property
    def gpu_models(self) -> list[str]:
        """Names of the groups' GPUs in the catalog."""
        having = (shape.accelerator for shape in self.groups.values() if shape.accelerator)
        return sorted({accelerator.name for accelerator in having if accelerator.counts_as_gpu})

    def in_tier(self, tier: Tier) -> tuple[str, ...]:
        """Names of the groups' GPUs in a tier, from old to new."""
        years = self.gpu_years
        return tuple(sorted((name for name in years if tier.holds(years[name])), key=lambda name: (years[name], name)))

    @cached_property
    def gpu_years(self) -> Mapping[str, int]:
        """The tier of each of the groups' GPUs."""
        return {
            shape.accelerator.name: shape.accelerator.year
            for shape in self.groups.values()
            if shape.accelerator and shape.accelerator.counts_as_gpu
        }

    @cached_property
    def shares_gpus(self) -> bool:
        """Whether a group's GPUs are shared between pods."""
        return any(shape.args.sharing for shape in self.groups.values())


def of(settings: Mapping[str, NodeGroupArgs], cluster: ClusterProperties) -> tuple[Fleet, list[Problem]]:
    """The fleet of all valid groups, and every problem."""
    found: list[Problem] = []
    shapes: dict[str, Shape] = {}
    for name, args in settings.items():
        shape, problems = resolve(name, args, cluster)
        found += problems
        if shape:
            shapes[name] = shape
    fleet = Fleet(shapes, unresolved=frozenset(settings) - set(shapes))
    together = fleet_checks.find_problems(fleet.groups, is_new=bool(cluster.cloud), unresolved=bool(fleet.unresolved))
    return fleet, [*found, *together]
