"""The capacity of a queue: whether it can ever admit a job, what would fit instead, and whether the job could be
preempted.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tensorplane.components import catalog
from tensorplane.components.base import quantities
from tensorplane.components.base.labels import HOSTNAME, ZONE
from tensorplane.components.base.model import Resources
from tensorplane.components.base.problems import Key
from tensorplane.components.node_groups import placement
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.queues import cohort
from tensorplane.components.queues.flavors import ANY, Flavor
from tensorplane.components.queues.quota import NOTHING, Amount, Quota
from tensorplane.components.queues.settings import ALONE, QueueArgs


@dataclass(frozen=True)
class PodSet:
    """Equal pods of a job. Kueue assigns one flavor to all of them."""

    role: str
    count: int
    resources: Resources
    together: bool
    """Whether they compute every step together: they then need GPUs that are not shared."""
    interruptible: bool
    at: Key = ("resources",)
    """Path of their resources, below the workload's."""
    count_at: Key = ("replicas",)
    """Path of their number, below the workload's."""

    @property
    def gpus(self) -> int:
        """GPUs of all of them; TPU chips are none."""
        return self.count * self.each.gpus

    @property
    def each(self) -> Amount:
        """Requests of one pod."""
        resources = self.resources
        cpus, memory_gib = (
            quantities.millicores(resources.cpus) / 1000,
            quantities.mebibytes(resources.memory_gib) / 1024,
        )
        is_gpu = catalog.resource_of(resources.accelerators) == catalog.GPU_RESOURCE
        return Amount(cpus, memory_gib, resources.gpus if is_gpu else 0)


@dataclass(frozen=True)
class QueueCapacity:
    """The most that one queue can have of each flavor."""

    queue: str
    fleet: Fleet
    kinds: Sequence[tuple[Quota, Amount]]
    """Quotas in the order in which the queue uses them, with the most that its jobs can hold of each flavor."""
    levels: Mapping[str, str] = field(default_factory=dict)
    """Node labels of the topology's levels, from wide to narrow, by their names in the settings."""
    borrows_at_once: bool = False
    """Whether the queue borrows in the first flavor that has quota; others first try their own quota of all flavors."""
    priority: str = "normal"
    """The queue's."""
    lent: frozenset[str] = frozenset()
    """The flavors whose guaranteed GPUs other queues may hold until Kueue reclaims them."""

    def usable(self, pods: PodSet) -> Iterator[tuple[Quota, Amount]]:
        """The flavors that these pods can use."""
        for kind, most in self.kinds:
            if _lets_in(kind.flavor, pods, self.fleet):
                yield kind, most

    def fits(self, pods: PodSet) -> bool:
        """Whether the pods could be admitted, with no other jobs and everything that others lend."""
        return any(most.holds(pods.each, pods.count) for _, most in self.usable(pods))

    def fit_together(self, pod_sets: Sequence[PodSet]) -> bool:
        """The same for all pods of a job. Kueue assigns flavors to the pod sets in order and never revises one."""
        held: dict[str, Amount] = {}
        for pods in pod_sets:
            after = {
                kind.flavor.name: held.get(kind.flavor.name, NOTHING) + pods.each.times(pods.count)
                for kind, _ in self.usable(pods)
            }
            free = [kind for kind, most in self.usable(pods) if most.holds(after[kind.flavor.name], 1)]
            own = [kind for kind in free if kind.guaranteed.holds(after[kind.flavor.name], 1)]
            if not free:
                return False
            taken = (free if self.borrows_at_once else own or free)[0].flavor.name
            held[taken] = after[taken]
        return True

    def borrows(self, pods: PodSet) -> list[Quota]:
        """The flavors that these pods may borrow, and whose owner can therefore preempt them."""
        return [
            kind for kind, most in self.usable(pods) if kind.borrowable != NOTHING and most.holds(pods.each, pods.count)
        ]

    def above_share(self, pods: PodSet) -> Quota | None:
        """A flavor with guaranteed GPUs for these pods, with fewer cores or less memory than they request for them.

        Kueue reclaims lent quota only for a job that is within the guaranteed amount of every resource. Cores and
        memory are guaranteed in proportion to the GPUs, so a pod with more of them keeps GPUs away from its own queue.
        """
        for kind, _ in self.usable(pods):
            share, gpus = kind.flavor.share, pods.each.gpus
            if share is None or kind.flavor.name not in self.lent or pods.gpus > kind.guaranteed.gpus:
                continue
            most = share.times(gpus)
            if not Amount(most.cpus, most.memory_gib, gpus).holds(pods.each, 1):
                return kind
        return None

    def most_within(self, pods: PodSet, label: str) -> int | None:
        """How many such pods fit one domain of a topology level; None if the domains are unknown."""
        if label == HOSTNAME:
            return max((kind.flavor.per_pod // pods.resources.gpus for kind, _ in self.usable(pods)), default=0)
        if label != ZONE:
            return None
        names = {kind.flavor.name for kind, _ in self.usable(pods)}
        shapes = [shape for shape in self.fleet.groups.values() if shape.flavor in names]
        if not all(shape.args.zones for shape in shapes):
            return None
        found: Counter[tuple[str, str]] = Counter()
        for shape in shapes:
            nodes = -(-shape.args.max // len(shape.args.zones))
            for zone in shape.args.zones:
                found[shape.flavor, zone] += nodes * (shape.per_node // pods.resources.gpus)
        return max(found.values(), default=0)

    def most(self, pods: PodSet) -> int:
        """How many such pods would fit."""
        return max((_times(most, pods.each, pods.count) for _, most in self.usable(pods)), default=0)


def queue_capacities(
    queues: Mapping[str, QueueArgs], quotas: Mapping[str, list[Quota]], fleet: Fleet, levels: Mapping[str, str]
) -> dict[str, QueueCapacity]:
    """The capacity of each queue, by its quota of each flavor."""
    lends, borrowers = cohort.root_cohort(queues, quotas), _borrowers(queues, quotas)
    return {
        name: QueueCapacity(
            name,
            fleet,
            tuple((each, cohort.max_quota(lends, name, each)) for each in quotas[name]),
            levels,
            borrows_at_once=args.priority == "high",
            priority=args.priority,
            lent=frozenset(_lent(name, args, quotas[name], borrowers)),
        )
        for name, args in queues.items()
    }


def _borrowers(queues: Mapping[str, QueueArgs], quotas: Mapping[str, list[Quota]]) -> dict[str, set[str]]:
    """The queues that may borrow GPUs, by flavor."""
    found: dict[str, set[str]] = {}
    for name in (name for name, args in queues.items() if args.cohort != ALONE):
        for each in quotas[name]:
            if each.borrowable.gpus:
                found.setdefault(each.flavor.name, set()).add(name)
    return found


def _lent(
    name: str, args: QueueArgs, quotas: Sequence[Quota], borrowers: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """The flavors whose guaranteed GPUs other queues may hold."""
    for each in quotas if args.cohort != ALONE else ():
        lent = each.guaranteed if each.lent is None else each.lent
        if lent.gpus and any(other != name for other in borrowers.get(each.flavor.name, ())):
            yield each.flavor.name


def _times(most: Amount, each: Amount, limit: int) -> int:
    return next((times for times in range(limit, 0, -1) if most.holds(each, times)), 0)


def _lets_in(flavor: Flavor, pods: PodSet, fleet: Fleet) -> bool:
    resources = pods.resources
    if flavor.name == ANY:
        return True
    if flavor.is_gpu != bool(resources.gpus):
        return False
    group = fleet.groups.get(resources.node_group or "")
    if group:
        return flavor.name == group.flavor
    if resources.accelerators and not any(map(flavor.has_accelerator, resources.accelerators)):
        return False
    if flavor.shared and (pods.together or resources.gpus > 1):
        return False
    tolerated = placement.tolerated(fleet, resources, interruptible=pods.interruptible)
    return resources.gpus <= flavor.per_pod and all((taint.key, taint.effect) in tolerated for taint in flavor.taints)
