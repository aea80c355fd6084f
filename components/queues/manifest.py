"""Kueue's objects of a stack's queues: names, labels and specs, and what policies read of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tensorplane.components.base import outputs
from tensorplane.components.base.labels import (
    NAMESPACE_NAME,
    PRIORITY_LABEL,
    QUEUE_LABEL,
)
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.node_groups.labels import CPU
from tensorplane.components.queues import quota, topology
from tensorplane.components.queues.flavors import Flavor
from tensorplane.components.queues.quota import Quota
from tensorplane.components.queues.settings import ALONE, QueueArgs

DEFAULT = "default"
"""The queue that Kueue gives jobs that name none."""


def registered(args: QueueArgs, quotas: Sequence[Quota], flavors: Mapping[str, Flavor]) -> outputs.Queue:
    """What policies and reports read: plain values, known before any resource exists. Quotas count GPUs, or cores of a
    flavor without GPUs."""
    return outputs.Queue(
        priority=args.priority,
        cpus=args.cpus,
        memoryGib=args.memory_gib,
        gpus=sum(each.guaranteed.gpus for each in quotas),
        teams=list(args.teams),
        cohort=args.cohort or "",
        kinds=[
            outputs.QueueFlavor(
                name=name,
                guaranteed=each.guaranteed.of_key(name),
                borrowable=each.borrowable.of_key(name),
                lends=0 if args.cohort == ALONE else (each.lent or each.guaranteed).of_key(name),
            )
            for each in quotas
            for name in each.flavor.quota_keys
            if each.guaranteed.of_key(name) or each.borrowable.of_key(name)
        ],
        # From the oldest to the newest, also those that this queue never uses.
        machines=[
            outputs.Flavor(name=name, gpus=name != CPU, max=flavor.cpus_max if name == CPU else flavor.gpus_max)
            for flavor in flavors.values()
            for name in flavor.quota_keys
        ],
        cost=quota.estimate("", quotas).plain(),
    )


def job_labels(namespace: str, queue: str) -> dict[str, str]:
    """Labels that put a job into a queue. `namespace`: the stack's."""
    return {QUEUE_LABEL: queue, PRIORITY_LABEL: cluster_wide_name(namespace, queue)}


def cluster_wide_name(namespace: str, queue: str) -> str:
    """Name of a cluster-scoped object of the queue; jobs name the priority class in a label."""
    return f"{namespace}-{queue}"


def cluster_queue_spec(
    args: QueueArgs, quotas: Sequence[Quota], stack: str, namespaces: Sequence[pulumi.Input[str]]
) -> dict[str, Any]:
    """The ClusterQueue: its flavors in order, their quotas, and whom it preempts."""
    among = {"key": NAMESPACE_NAME, "operator": "In", "values": list(namespaces)}
    spec: dict[str, Any] = {
        "namespaceSelector": {"matchExpressions": [among]},
        "queueingStrategy": "BestEffortFIFO" if args.order == "bestEffort" else "StrictFIFO",
        "flavorFungibility": _FUNGIBILITY[args.priority == "high"],
        # A queue gets its nominal quota back even while others borrow it, but never preempts in order to borrow.
        "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
        "resourceGroups": [
            {
                "coveredResources": list(quota.COVERED),
                "flavors": [
                    {
                        "name": cluster_wide_name(stack, each.flavor.object_name),
                        "resources": list(quota.resources(each, args, in_cohort=quota.in_cohort(args, quotas))),
                    }
                    for each in quotas
                ],
            }
        ],
    }
    if args.cohort == ALONE:
        spec["preemption"]["reclaimWithinCohort"] = "Never"
    if quota.in_cohort(args, quotas):
        spec["cohortName"] = cohort_name(stack, None if args.cohort == ALONE else args.cohort)
    if args.weight is not None:
        spec["fairSharing"] = {"weight": queue_weight(args.weight)}
    return spec


# High priority preempts or borrows in its first flavor; other queues try the next flavors before they borrow or
# preempt.
_FUNGIBILITY = {
    True: {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"},
    False: {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"},
}


def cohort_name(stack: str, cohort: str | None) -> str:
    """Name of a cohort in the cluster; the stack's own has the name of its namespace."""
    return cluster_wide_name(stack, cohort) if cohort else stack


def queue_weight(weight: float) -> str:
    return f"{round(weight * 1000)}m" if weight % 1 else str(int(weight))


def flavor_spec(flavor: Flavor, stack: str) -> dict[str, Any]:
    """The ResourceFlavor: node labels that pods select, taints that they must tolerate, and tolerations that Kueue
    adds."""
    spec: dict[str, Any] = {}
    if flavor.levels:
        spec["topologyName"] = topology.object_name(stack, flavor.levels)
    if flavor.labels:
        spec["nodeLabels"] = dict(flavor.labels)
    if flavor.taints:
        spec["nodeTaints"] = [{"key": t.key, "value": t.value, "effect": t.effect} for t in flavor.taints]
    if flavor.tolerations:
        spec["tolerations"] = [{"key": t.key, "operator": "Exists", "effect": t.effect} for t in flavor.tolerations]
    return spec
