"""Which flavor is short for a waiting job, who holds it, and whose end would let it start."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tensorplane.cli.api_values import Object
from tensorplane.cli.kueue.flavor_fit import lets_in, selects, untainted, untolerated
from tensorplane.cli.kueue.quota_tree import QuotaTree
from tensorplane.cli.kueue.workloads import Pods, Work
from tensorplane.components.catalog import GPU_RESOURCE

_MOST_COMBINED_JOBS = 3
"""Maximum number of jobs whose ends are combined."""
_TRIED = 12
"""Maximum number of holders in the combinations, the largest ones."""


@dataclass(frozen=True)
class Excess:
    """A resource of which a queue would hold more than it is guaranteed."""

    resource: str
    held: float
    """What its jobs would hold, with the waiting one."""
    own: float


@dataclass(frozen=True)
class Option:
    """A flavor on which the pods of a job may run."""

    flavor: str
    resource: str
    """The resource that is short, GPUs first; empty if there is enough."""
    needed: float
    free: float
    """What the queue could get now."""
    most: float
    """What the queue could get with nothing else running."""
    own: float
    """What is guaranteed to the queue."""
    used: float
    """What its other jobs hold."""
    excess: tuple[Excess, ...]
    """The resources that are short and that Kueue does not reclaim, because the queue would hold more than its own."""
    holders: tuple[Work, ...]
    """The jobs that hold it, the largest first."""
    ends: tuple[tuple[Work, ...], ...]
    """The smallest sets of jobs whose end would free enough."""

    @property
    def possible(self) -> bool:
        """Whether there can ever be enough."""
        return self.needed <= self.most


@dataclass(frozen=True)
class Short:
    """Pods of a job that do not fit."""

    pods: Pods
    options: tuple[Option, ...]
    """In the queue's order; empty if no flavor accepts the pods."""
    tainted: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The flavors that would accept the pods but for taints that they do not tolerate, with these taints."""
    without_nodes: tuple[str, ...] = ()
    """The flavors that would accept the pods if one of their nodes took pods."""


def short(work: Work, tree: QuotaTree, flavors: Sequence[Object], without_nodes: Collection[str] = ()) -> Short | None:
    """The first pods of the job that do not fit; None if all fit. `without_nodes`: flavors that take no part."""
    queue = work.cluster_queue
    if queue is None or queue not in tree.queues:
        return None
    specs = untainted(flavors)
    known = {key for name in tree.queues[queue].flavors for key in specs.get(name, {}).get("nodeLabels") or {}}
    taken: dict[tuple[str, str], float] = {}
    for pods in work.pods:
        usable = [name for name in tree.queues[queue].flavors if lets_in(specs.get(name, {}), pods, known)]
        options = tuple(_option(queue, name, pods, tree, taken) for name in usable if name not in without_nodes)
        fitting = next((option for option in options if not option.resource), None)
        if fitting is None:
            return Short(
                pods,
                tuple(option for option in options if option.most),
                tuple(_tainted(tree.queues[queue].flavors, specs, pods, known)),
                tuple(name for name in usable if name in without_nodes),
            )
        for resource, count in pods.together.items():
            taken_key = fitting.flavor, resource
            taken[taken_key] = taken.get(taken_key, 0) + count
    return None


def _tainted(
    flavors: Sequence[str], specs: Mapping[str, Object], pods: Pods, known: Collection[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name in flavors:
        spec = specs.get(name, {})
        if selects(spec, pods, known) and (taints := untolerated(spec, pods)):
            yield name, tuple(taints)


def _option(queue: str, flavor: str, pods: Pods, tree: QuotaTree, taken: Mapping[tuple[str, str], float]) -> Option:
    wanted = {
        (flavor, resource): count + taken.get((flavor, resource), 0)
        for resource, count in pods.together.items()
        if (flavor, resource) in tree.queues[queue].quotas and count
    }
    lacking = [key for key, count in wanted.items() if tree.free(queue, key) < count]
    # A flavor that can never be enough is reported before one that is only in use.
    lacking.sort(key=lambda key: (wanted[key] <= tree.most(queue, key), key[1] != GPU_RESOURCE))
    shared = tree.sharing(queue)
    holders = [work for work in tree.works if work.held.get(flavor) and work.admitted_by in shared]
    key = lacking[0] if lacking else next(iter(wanted), (flavor, GPU_RESOURCE))
    holders = [work for work in holders if work.held[flavor].get(key[1])]
    holders.sort(key=lambda work: (-work.held[flavor][key[1]], work.name))
    return Option(
        flavor,
        key[1] if lacking else "",
        wanted.get(key, 0),
        tree.free(queue, key),
        tree.most(queue, key),
        tree.own(queue, key),
        tree.used(queue, key),
        tuple(_excess(queue, {key: wanted[key] for key in lacking}, tree)),
        tuple(holders),
        tuple(_ends(queue, wanted, holders, tree)) if lacking else (),
    )


def _excess(queue: str, lacking: Mapping[tuple[str, str], float], tree: QuotaTree) -> Iterator[Excess]:
    for key, count in lacking.items():
        held, own = tree.used(queue, key) + count, tree.own(queue, key)
        if held > own:
            yield Excess(key[1], held, own)


def _ends(
    queue: str, wanted: Mapping[tuple[str, str], float], holders: Sequence[Work], tree: QuotaTree
) -> Iterator[tuple[Work, ...]]:
    for size in range(1, _MOST_COMBINED_JOBS + 1):
        found = False
        for several in combinations(holders[:_TRIED], size):
            gone = {work.uid for work in several}
            if all(tree.free(queue, key, gone) >= count for key, count in wanted.items()):
                found = True
                yield several
        if found:
            return
