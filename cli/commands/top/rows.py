"""Who has which accelerators now: by flavor, by queue, and by namespace; and nodes that are about to be lost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tensorplane.agents.lost_nodes import device_faults, leaving
from tensorplane.agents.quota_return.flavors import why_unschedulable
from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.why.answer import resource_name
from tensorplane.cli.kueue import quota_tree, unqueued, workloads
from tensorplane.cli.kueue.objects import ClusterObjects, condition
from tensorplane.cli.kueue.quota_tree import QuotaTree
from tensorplane.cli.kueue.unqueued import Held
from tensorplane.cli.kueue.workloads import Work
from tensorplane.components import catalog
from tensorplane.components.base.labels import ACCELERATOR, FLAVOR
from tensorplane.components.base.quantities import amount
from tensorplane.components.catalog import GPU_RESOURCE

CORES = "cpu"


@dataclass(frozen=True)
class Flavor:
    """One flavor."""

    name: str
    resource: str
    """What is counted: GPUs, or cores if no queue has GPUs of it."""
    nodes: int
    ready: int
    capacity: float
    """The capacity of the ready nodes."""
    guaranteed: float
    """The sum of the queues' guaranteed quota."""
    used: float
    unqueued: float
    """GPUs that pods hold without a queue."""


@dataclass(frozen=True)
class Share:
    """A queue's share of a flavor."""

    queue: str
    flavor: str
    resource: str
    used: float
    guaranteed: float
    borrowed: float
    lent: float
    several: bool
    """Whether others lend the flavor too, so that `lent` is a maximum: Kueue does not tell whose quota is in use."""


@dataclass(frozen=True)
class Namespace:
    """What the jobs of a namespace hold and wait for."""

    name: str
    used: Mapping[str, float]
    """By flavor, including what its pods hold without a queue."""
    running: int
    starting: int
    """Jobs with quota, not all of whose pods run yet."""
    waiting: int
    wanted: int
    """GPUs that the waiting jobs request."""


@dataclass(frozen=True)
class Queue:
    """The jobs of a queue."""

    name: str
    cluster_queue: str
    running: int
    starting: int
    waiting: int
    admits: bool


@dataclass(frozen=True)
class Top:
    """Everything that is shown."""

    flavors: tuple[Flavor, ...]
    queues: tuple[Queue, ...]
    shares: tuple[Share, ...]
    namespaces: tuple[Namespace, ...]
    troubles: tuple[str, ...] = ()
    """Sentences about nodes of these flavors."""


def of(objects: ClusterObjects, works: Sequence[Work]) -> Top:
    """From a cluster's objects: the stack's queues, and those that share flavors with them."""
    tree = quota_tree.of(objects, works)
    own = {q["spec"]["clusterQueue"] for q in objects.local_queues if q["metadata"]["namespace"] == objects.namespace}
    shown = sorted({each for name in own if name in tree.queues for each in tree.sharing(name)})
    resources = _resources(objects, tree, shown)
    held = unqueued.of(objects)
    flavors = tuple(_flavor(name, resource, objects, tree, shown, held) for name, resource in resources.items())
    return Top(
        flavors,
        tuple(_queue(name, objects, works) for name in shown),
        tuple(share for name in shown for share in _shares(name, resources, objects, tree)),
        tuple(_namespace(name, objects, works, resources, held) for name in _namespaces(objects, works, shown)),
        tuple(node_troubles(node for flavor in resources for node in _nodes(flavor, objects))),
    )


def _resources(objects: ClusterObjects, tree: QuotaTree, shown: Sequence[str]) -> dict[str, str]:
    """The counted resource of each flavor of these queues, from the oldest accelerator to the newest."""
    names = dict.fromkeys(flavor for queue in shown for flavor in tree.queues[queue].flavors)
    accelerators = {
        one["metadata"]["name"]: (one["spec"].get("nodeLabels") or {}).get(ACCELERATOR) for one in objects.flavors
    }
    ages = {accelerator: age for age, accelerator in enumerate(catalog.ACCELERATORS)}
    ordered = sorted(names, key=lambda name: (ages.get(accelerators.get(name) or "", -1), name))
    return {
        name: GPU_RESOURCE if any(tree.most(queue, (name, GPU_RESOURCE)) for queue in shown) else CORES
        for name in ordered
    }


def _flavor(
    flavor: str, resource: str, objects: ClusterObjects, tree: QuotaTree, shown: Sequence[str], held: Sequence[Held]
) -> Flavor:
    name = workloads.flavor_names(objects.flavors).get(flavor, flavor)
    nodes = _nodes(flavor, objects)
    ready = [node for node in nodes if not why_unschedulable(node)]
    return Flavor(
        name,
        resource,
        len(nodes),
        len(ready),
        sum(amount(node["status"]["allocatable"].get(resource, "0")) for node in ready),
        sum(tree.own(queue, (flavor, resource)) for queue in shown),
        sum(tree.used(queue, (flavor, resource)) for queue in shown),
        sum(one.gpus for one in held if one.flavor == name and resource == GPU_RESOURCE),
    )


def _nodes(flavor: str, objects: ClusterObjects) -> list[Object]:
    """The nodes with a flavor's labels; of one without a label of the platform, those that belong to no other."""
    labels = {one["metadata"]["name"]: one["spec"].get("nodeLabels") or {} for one in objects.flavors}
    wanted = labels.get(flavor, {})
    others = {each[FLAVOR] for each in labels.values() if FLAVOR in each and FLAVOR not in wanted}

    def is_of(found: Mapping[str, str]) -> bool:
        return all(found.get(key) == value for key, value in wanted.items()) and found.get(FLAVOR) not in others

    return [node for node in objects.nodes if is_of(node["metadata"].get("labels") or {})]


def _queue(name: str, objects: ClusterObjects, works: Sequence[Work]) -> Queue:
    found = next(one for one in objects.cluster_queues if one["metadata"]["name"] == name)
    return Queue(
        workloads.queue_names(objects.cluster_queues)[name],
        name,
        sum(work.admitted_by == name and work.state == "running" for work in works),
        sum(work.admitted_by == name and work.state == "admitted" for work in works),
        sum(work.cluster_queue == name and work.state == "waiting" for work in works),
        condition(found, "Active").holds,
    )


def _shares(queue: str, resources: Mapping[str, str], objects: ClusterObjects, tree: QuotaTree) -> Iterator[Share]:
    flavors, names = workloads.flavor_names(objects.flavors), workloads.queue_names(objects.cluster_queues)
    others = tree.sharing(queue) - {queue}
    for flavor in tree.queues[queue].flavors:
        resource = resources[flavor]
        key = flavor, resource
        own, used = tree.own(queue, key), tree.used(queue, key)
        borrowed = sum(max(0.0, tree.used(each, key) - tree.own(each, key)) for each in others)
        idle = any(tree.own(each, key) > tree.used(each, key) for each in others)
        yield Share(
            names[queue],
            flavors.get(flavor, flavor),
            resource,
            used,
            own,
            max(0.0, used - own),
            min(borrowed, max(0.0, own - used)),
            borrowed > 0 and idle,
        )


def _namespaces(objects: ClusterObjects, works: Sequence[Work], shown: Sequence[str]) -> list[str]:
    """Namespaces of the stack and its teams, and those with jobs in queues that share with theirs."""
    others = {work.namespace for work in works if work.state != "finished" and work.cluster_queue in shown}
    return [*objects.namespaces, *sorted(others - set(objects.namespaces))]


def _namespace(
    name: str, objects: ClusterObjects, works: Sequence[Work], resources: Mapping[str, str], unqueued: Sequence[Held]
) -> Namespace:
    flavors = workloads.flavor_names(objects.flavors)
    inside = [work for work in works if work.namespace == name]
    used: dict[str, float] = defaultdict(float)
    for work in inside:
        for flavor, held in work.held.items():
            used[flavors.get(flavor, flavor)] += held.get(resources.get(flavor, GPU_RESOURCE), 0)
    for one in (each for each in unqueued if each.namespace == name):
        used[one.flavor] += one.gpus
    states = Counter(work.state for work in inside)
    wanted = sum(work.gpus for work in inside if work.state == "waiting")
    return Namespace(name, dict(used), states["running"], states["admitted"], states["waiting"], wanted)


def node_troubles(nodes: Iterable[Object]) -> Iterator[str]:
    """A sentence for each trouble. The number of ready nodes shows which are cordoned."""
    for node in nodes:
        name = node["metadata"]["name"]
        found = leaving.announcement(node)
        if found and not node["spec"].get("unschedulable"):
            yield f"Node {name} {found.words}."
        for resource, each in device_faults.list_devices(node).items():
            if broken := each.total - each.healthy:
                verb, them = ("is", "it") if broken == 1 else ("are", "them")
                what = f"{broken} of {each.total} {resource_name(resource)} of node {name}"
                yield f"{what} {verb} unhealthy: no pod gets {them}."
