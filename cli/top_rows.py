"""Who has which cards now: by kind of machine, by queue, and by namespace."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cli import queue_room, queue_work, unqueued
from cli.queue_facts import Facts, condition
from cli.queue_room import Room
from cli.queue_work import Work, amount
from cli.unqueued import Held
from components import catalog
from components.catalog import GPU_RESOURCE
from components.node_group import ACCELERATOR, FLAVOR

CORES = "cpu"


@dataclass(frozen=True)
class Kind:
    """One kind of machine."""

    name: str
    resource: str
    """What is counted: GPUs, or cores where no queue has GPUs of it."""
    nodes: int
    ready: int
    capacity: float
    """What the nodes that are ready offer."""
    quota: float
    """What queues are sure of together."""
    used: float
    unqueued: float
    """GPUs that pods hold without a queue."""


@dataclass(frozen=True)
class Share:
    """What one queue has of one kind of machine."""

    queue: str
    kind: str
    resource: str
    used: float
    quota: float
    borrowed: float
    lent: float
    several: bool
    """Whether others lend it, too, so that nobody knows whose part is lent: then it is this much at most."""


@dataclass(frozen=True)
class Namespace:
    """What the jobs of one namespace have and wait for."""

    name: str
    used: Mapping[str, float]
    """By kind of machine, with what its pods hold without a queue."""
    running: int
    starting: int
    """Jobs that hold what they asked for, and whose pods do not run all yet."""
    waiting: int
    wanted: int
    """GPUs that the waiting jobs ask for."""


@dataclass(frozen=True)
class Queue:
    """How many jobs one queue has."""

    name: str
    cluster_queue: str
    running: int
    starting: int
    waiting: int
    admits: bool


@dataclass(frozen=True)
class Top:
    """Everything that is shown."""

    kinds: tuple[Kind, ...]
    queues: tuple[Queue, ...]
    shares: tuple[Share, ...]
    namespaces: tuple[Namespace, ...]


def of(facts: Facts, works: Sequence[Work]) -> Top:
    """From what a cluster says: the stack's queues, and those that share machines with them."""
    room = queue_room.of(facts, works)
    own = {q["spec"]["clusterQueue"] for q in facts.local_queues if q["metadata"]["namespace"] == facts.namespace}
    shown = sorted({each for name in own if name in room.queues for each in room.around(name)})
    flavors = _flavors(facts, room, shown)
    beside = unqueued.of(facts)
    kinds = tuple(_kind(flavor, resource, facts, room, shown, beside) for flavor, resource in flavors.items())
    return Top(
        kinds,
        tuple(_queue(name, facts, works) for name in shown),
        tuple(share for name in shown for share in _shares(name, flavors, facts, room)),
        tuple(_namespace(name, facts, works, flavors, beside) for name in _namespaces(facts, works, shown)),
    )


def _flavors(facts: Facts, room: Room, shown: Sequence[str]) -> dict[str, str]:
    """What is counted of each flavor of these queues, from old cards to new ones."""
    names = dict.fromkeys(flavor for queue in shown for flavor in room.queues[queue].flavors)
    cards = {one["metadata"]["name"]: (one["spec"].get("nodeLabels") or {}).get(ACCELERATOR) for one in facts.flavors}
    ages = {card: age for age, card in enumerate(catalog.ACCELERATORS)}
    ordered = sorted(names, key=lambda name: (ages.get(cards.get(name) or "", -1), name))
    return {
        name: GPU_RESOURCE if any(room.most(queue, (name, GPU_RESOURCE)) for queue in shown) else CORES
        for name in ordered
    }


def _kind(flavor: str, resource: str, facts: Facts, room: Room, shown: Sequence[str], beside: Sequence[Held]) -> Kind:
    name = queue_work.kinds(facts.flavors).get(flavor, flavor)
    nodes = [node for node in facts.nodes if (node["metadata"].get("labels") or {}).get(FLAVOR) == name]
    ready = [node for node in nodes if condition(node, "Ready").holds and not node["spec"].get("unschedulable")]
    return Kind(
        name,
        resource,
        len(nodes),
        len(ready),
        sum(amount(node["status"]["allocatable"].get(resource, "0")) for node in ready),
        sum(room.own(queue, (flavor, resource)) for queue in shown),
        sum(room.used(queue, (flavor, resource)) for queue in shown),
        sum(one.gpus for one in beside if one.kind == name and resource == GPU_RESOURCE),
    )


def _queue(name: str, facts: Facts, works: Sequence[Work]) -> Queue:
    found = next(one for one in facts.cluster_queues if one["metadata"]["name"] == name)
    return Queue(
        queue_work.queue_names(facts.cluster_queues)[name],
        name,
        sum(work.admitted_by == name and work.state == "running" for work in works),
        sum(work.admitted_by == name and work.state == "admitted" for work in works),
        sum(work.cluster_queue == name and work.state == "waiting" for work in works),
        condition(found, "Active").holds,
    )


def _shares(queue: str, flavors: Mapping[str, str], facts: Facts, room: Room) -> Iterator[Share]:
    kinds, names = queue_work.kinds(facts.flavors), queue_work.queue_names(facts.cluster_queues)
    others = room.around(queue) - {queue}
    for flavor in room.queues[queue].flavors:
        resource = flavors[flavor]
        place = flavor, resource
        own, used = room.own(queue, place), room.used(queue, place)
        borrowed = sum(max(0.0, room.used(each, place) - room.own(each, place)) for each in others)
        idle = any(room.own(each, place) > room.used(each, place) for each in others)
        yield Share(
            names[queue],
            kinds.get(flavor, flavor),
            resource,
            used,
            own,
            max(0.0, used - own),
            min(borrowed, max(0.0, own - used)),
            borrowed > 0 and idle,
        )


def _namespaces(facts: Facts, works: Sequence[Work], shown: Sequence[str]) -> list[str]:
    """The stack's and its teams', and others whose jobs are in queues that share with these."""
    others = {work.namespace for work in works if work.state != "finished" and work.cluster_queue in shown}
    return [*facts.namespaces, *sorted(others - set(facts.namespaces))]


def _namespace(
    name: str, facts: Facts, works: Sequence[Work], flavors: Mapping[str, str], beside: Sequence[Held]
) -> Namespace:
    kinds = queue_work.kinds(facts.flavors)
    inside = [work for work in works if work.namespace == name]
    used: dict[str, float] = defaultdict(float)
    for work in inside:
        for flavor, held in work.held.items():
            used[kinds.get(flavor, flavor)] += held.get(flavors.get(flavor, GPU_RESOURCE), 0)
    for one in (each for each in beside if each.namespace == name):
        used[one.kind] += one.gpus
    states = Counter(work.state for work in inside)
    wanted = sum(work.gpus for work in inside if work.state == "waiting")
    return Namespace(name, dict(used), states["running"], states["admitted"], states["waiting"], wanted)
