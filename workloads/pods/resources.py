"""Checks of pod requests against the nodes."""

from collections.abc import Iterator, Sequence

from tensorplane.components.base.model import Resources
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.node_groups.checks import pod_fit
from tensorplane.components.node_groups.checks import pods as pod_checks
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared


def find_problems(pod_sets: Sequence[PodSet], at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of requests that no node can meet. `at`: the path of the workload."""
    fleet = declared.fleet
    for index, pods in enumerate(pod_sets):
        resources, path = pods.resources, (*at, *pods.at)
        if (resources, pods.at) in [(other.resources, other.at) for other in pod_sets[:index]]:
            continue
        yield from pod_checks.find_problems(
            fleet, resources, path, interruptible=pods.interruptible, synchronous=pods.together, workload=at
        )
        yield from _memory(resources, path)
        yield from _network(pods, path, declared)
        if resources.gpus and declared.cluster.own_nodes and not (fleet.groups or fleet.unresolved):
            reason = f"is {resources.gpus}, but the node of the embedded cluster has no GPUs"
            remedy = "set 0, declare simulated nodes in nodeGroups, or use another cluster"
            yield Problem((*path, "gpus"), f"{reason}; {remedy}", given=(("cluster",), ("nodeGroups",)))


def kinds_problems(pod_sets: Sequence[PodSet], at: Key) -> Iterator[Problem]:
    """Problem of synchronous pods that could get different accelerators: without a queue, each pod is placed alone."""
    for pods in pod_sets:
        if pods.together and pods.count > 1 and len(pods.resources.accelerators) > 1:
            names = ", ".join(pods.resources.accelerators)
            reason = f"is {names}, but without a queue workers could get different ones and wait for the slowest"
            path = (*at, *pods.at, "accelerator")
            yield Problem(
                path, f"{reason}; set queue, which gives all the same one, or choose one", given=((*at, "queue"),)
            )


def _memory(resources: Resources, path: Key) -> Iterator[Problem]:
    shared = resources.shared_memory_gib
    if shared and shared > resources.memory_gib:
        reason = f"is {shared:g}, but the pod has {resources.memory_gib:g} GiB of memory, which includes /dev/shm"
        yield Problem((*path, "sharedMemoryGib"), f"{reason}; raise memoryGib, or lower it", given=(path,))


def _network(pods: PodSet, path: Key, declared: Declared) -> Iterator[Problem]:
    """Problem of more network interfaces than a node of the pod's groups offers; unknown devices are not checked."""
    groups = declared.fleet.taking(pods.resources, interruptible=pods.interruptible)
    for name in sorted(declared.cluster.network_resources.intersection(pods.resources.extended)):
        offers = [int(declared.cluster.network_of_whole_node(shape).get(name, "0")) for shape in groups]
        if groups and pods.resources.extended[name] > max(offers):
            names = ", ".join(shape.name for shape in groups)
            reason = f"is {pods.resources.extended[name]}, but nodes of {names} offer {max(offers)}"
            remedy = "use machines with EFA in a group of several nodes that are not spot, or request less"
            yield Problem((*path, "extended", name), f"{reason}; {remedy}", given=(path, ("nodeGroups",)))


def find_count_problems(pod_sets: Sequence[PodSet], at: Key, declared: Declared) -> Iterator[Problem]:
    """Problem of more pods than the nodes hold, without a queue. `at`: the path of the workload."""
    for pods in pod_sets:
        shapes = declared.fleet.taking(pods.resources, interruptible=pods.interruptible)
        yield from pod_fit.find_count_problems(
            pods.resources, pods.count, (*at, *pods.at), (*at, *pods.count_at), shapes
        )
