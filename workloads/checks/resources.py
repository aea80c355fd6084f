"""Checks of pod requests against the nodes."""

from collections.abc import Iterator, Sequence

from components.base.faults import Fault, Key
from components.node_groups.checks import pod_fit
from components.node_groups.checks import pods as pod_checks
from components.queues.room import PodSet
from workloads.base import Declared


def faults(pod_sets: Sequence[PodSet], at: Key, declared: Declared) -> Iterator[Fault]:
    """Faults of requests that no node can meet. `at`: the path of the pods' resources."""
    fleet, together = declared.fleet, any(pods.together for pods in pod_sets)
    for index, pods in enumerate(pod_sets):
        asked = pods.resources
        if asked in [other.resources for other in pod_sets[:index]]:
            continue
        yield from pod_checks.faults(fleet, asked, at, interruptible=pods.interruptible, synchronous=together)
        if asked.gpus and declared.cluster.own_nodes and not (fleet.groups or fleet.unresolved):
            reason = f"is {asked.gpus}, but the node of the embedded cluster has no GPUs"
            remedy = "set 0, declare simulated nodes in nodeGroups, or use another cluster"
            yield Fault((*at, "gpus"), f"{reason}; {remedy}", given=(("cluster",), ("nodeGroups",)))


def count_faults(pod_sets: Sequence[PodSet], at: Key, where: Key, declared: Declared) -> Iterator[Fault]:
    """Fault of more pods than the nodes have room for, without a queue. `where`: the path of their number."""
    for pods in pod_sets:
        shapes = declared.fleet.taking(pods.resources, interruptible=pods.interruptible)
        yield from pod_fit.count_faults(pods.resources, pods.count, at, where, shapes)
