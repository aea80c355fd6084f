"""Placement of a job's pods, from node groups, kind of cluster and queue."""

from collections.abc import Mapping

from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.node_groups import placement
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.queues import topology
from tensorplane.components.queues.capacity import PodSet, QueueCapacity
from tensorplane.workloads.pods import pod_sets
from tensorplane.workloads.training_job.context import Placement
from tensorplane.workloads.training_job.settings import JobSettings, Within


def of(
    settings: JobSettings, cluster: ClusterArgs, fleet: Fleet, capacity: QueueCapacity | None
) -> dict[str, Placement]:
    """The placement of each role's pods. `capacity`: of the job's queue; None without one."""
    return {
        pods.role: Placement(
            spec=placement.spec(
                fleet,
                pods.resources,
                interruptible=pods.interruptible,
                synchronous=pods.together,
                queued=settings.queue is not None,
            ),
            annotations={**_nearness(capacity, pods, settings.within), **_undisturbed(pods, cluster, fleet)},
            network=_network(pods, cluster, fleet),
        )
        for pods in pod_sets.of(settings)
    }


def _undisturbed(pods: PodSet, cluster: ClusterArgs, fleet: Fleet) -> Mapping[str, str]:
    """Annotations that keep the node of an uninterruptible pod until it has finished."""
    groups = [] if pods.interruptible else fleet.taking(pods.resources, interruptible=False)
    return {key: value for shape in groups for key, value in cluster.undisturbed(shape).items()}


def _network(pods: PodSet, cluster: ClusterArgs, fleet: Fleet) -> Mapping[str, str]:
    """Extended resources of a synchronous pod for the network between nodes: all of its node.

    Empty if it may run on groups that differ in them, because the request would exclude some.
    """
    if not pods.together:
        return {}
    groups = fleet.taken_whole(pods.resources, interruptible=pods.interruptible)
    networks = [cluster.network_of_whole_node(shape) for shape in groups]
    return networks[0] if networks and networks.count(networks[0]) == len(networks) else {}


def _nearness(capacity: QueueCapacity | None, pods: PodSet, within: Within | None) -> dict[str, str]:
    """Annotations of the pod template for topology-aware scheduling."""
    if capacity is None or not capacity.levels or not pods.resources.gpus:
        return {}
    if within is None:
        return topology.annotations(None, required=False)
    return topology.annotations(capacity.levels[within.level], required=within.required)
