"""Which flavor is short for a job that waits, who holds it, and whose end would let it start."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from cli.api_values import Object
from cli.kueue.flavor_match import lets_in, selects, untolerated
from cli.kueue.quota_tree import Room
from cli.kueue.workloads import Pods, Work
from components.catalog import GPU_RESOURCE

_TOGETHER = 3
"""So many jobs at most whose end is tried together in every combination."""
_TRIED = 12
"""Of so many holders at most, the largest."""


@dataclass(frozen=True)
class Option:
    """One flavor on which the pods of a job may run."""

    flavor: str
    resource: str
    """What is short of it, GPUs first; empty where it is enough."""
    needed: float
    free: float
    """What the queue could get now."""
    most: float
    """What it could get with nothing else running."""
    own: float
    """What is guaranteed to the queue."""
    holders: tuple[Work, ...]
    """What runs on it, those that hold the most first."""
    ends: tuple[tuple[Work, ...], ...]
    """Each of these sets of jobs would leave enough when it ends: the smallest sets that do."""

    @property
    def possible(self) -> bool:
        """Whether there could ever be enough."""
        return self.needed <= self.most


@dataclass(frozen=True)
class Short:
    """Pods of a job for which there is no room."""

    pods: Pods
    options: tuple[Option, ...]
    """In the order in which the queue takes them; none where none lets the pods in."""
    tainted: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The flavors that the pods do not tolerate and would be let into otherwise, with the taints."""


def short(work: Work, room: Room, flavors: Sequence[Object]) -> Short | None:
    """The first pods of the job that find no room; None where all would."""
    queue = work.cluster_queue
    if queue is None or queue not in room.queues:
        return None
    specs = {one["metadata"]["name"]: one["spec"] for one in flavors}
    known = {key for name in room.queues[queue].flavors for key in specs.get(name, {}).get("nodeLabels") or {}}
    taken: dict[tuple[str, str], float] = {}
    for pods in work.pods:
        usable = [name for name in room.queues[queue].flavors if lets_in(specs.get(name, {}), pods, known)]
        options = tuple(_option(queue, name, pods, room, taken) for name in usable)
        fitting = next((option for option in options if not option.resource), None)
        if fitting is None:
            return Short(
                pods,
                tuple(option for option in options if option.most),
                tuple(_tainted(room.queues[queue].flavors, specs, pods, known)),
            )
        for resource, count in pods.together.items():
            place = fitting.flavor, resource
            taken[place] = taken.get(place, 0) + count
    return None


def _tainted(
    flavors: Sequence[str], specs: Mapping[str, Object], pods: Pods, known: Collection[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name in flavors:
        spec = specs.get(name, {})
        if selects(spec, pods, known) and (taints := untolerated(spec, pods)):
            yield name, tuple(taints)


def _option(queue: str, flavor: str, pods: Pods, room: Room, taken: Mapping[tuple[str, str], float]) -> Option:
    wanted = {
        (flavor, resource): count + taken.get((flavor, resource), 0)
        for resource, count in pods.together.items()
        if (flavor, resource) in room.queues[queue].quotas and count
    }
    lacking = [place for place, count in wanted.items() if room.free(queue, place) < count]
    # What can never be is the reason before what is only in use.
    lacking.sort(key=lambda place: (wanted[place] <= room.most(queue, place), place[1] != GPU_RESOURCE))
    shared = room.around(queue)
    holders = [work for work in room.works if work.held.get(flavor) and work.admitted_by in shared]
    place = lacking[0] if lacking else next(iter(wanted), (flavor, GPU_RESOURCE))
    holders = [work for work in holders if work.held[flavor].get(place[1])]
    holders.sort(key=lambda work: (-work.held[flavor][place[1]], work.name))
    return Option(
        flavor,
        place[1] if lacking else "",
        wanted.get(place, 0),
        room.free(queue, place),
        room.most(queue, place),
        room.own(queue, place),
        tuple(holders),
        tuple(_ends(queue, wanted, holders, room)) if lacking else (),
    )


def _ends(
    queue: str, wanted: Mapping[tuple[str, str], float], holders: Sequence[Work], room: Room
) -> Iterator[tuple[Work, ...]]:
    for size in range(1, _TOGETHER + 1):
        found = False
        for several in combinations(holders[:_TRIED], size):
            gone = {work.uid for work in several}
            if all(room.free(queue, place, gone) >= count for place, count in wanted.items()):
                found = True
                yield several
        if found:
            return
