"""Queues that share the cluster between jobs: Kueue's objects from a few settings and the node groups."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components import versions
from components.base import facts
from components.base.custom_resource import TopLevelResource
from components.base.labels import NAMESPACE_NAME, PRIORITY_LABEL, QUEUE_LABEL, labels
from components.namespace import Namespace
from components.node_groups.labels import CPU
from components.queues import quota, topology
from components.queues.flavors import Flavor
from components.queues.quota import Quota
from components.queues.settings import ALONE, PRIORITIES, CohortArgs, QueueArgs, TeamArgs

__all__ = [
    "CohortArgs",
    "Queue",
    "QueueArgs",
    "TeamArgs",
    "cluster_wide_name",
    "declare_cohorts",
    "declare_flavors",
    "job_labels",
]

DEFAULT = "default"
"""The queue that Kueue gives jobs that name none."""


class Queue(pulumi.ComponentResource):
    """A queue of the stack's namespace and of its teams'. `job_labels` on a job put it in."""

    def __init__(
        self,
        name: str,
        args: QueueArgs,
        *,
        namespace: Namespace,
        teams: Mapping[str, pulumi.Input[str]],
        flavors: Mapping[str, Flavor],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`teams`: the teams' namespaces, by the teams' names."""
        quotas = quota.of(args, flavors)
        super().__init__(facts.QUEUE, name, dict(registered(args, quotas, flavors)), opts)
        # Cluster-wide names, shared with every other stack on the cluster.
        stack = namespace.plain_name
        wide = cluster_wide_name(stack, name)
        marks = labels(name, "queue")
        namespaces = {stack: namespace.name, **{team: teams[team] for team in args.teams if team in teams}}
        cluster_queue = _kueue(
            "ClusterQueue",
            wide,
            marks,
            cluster_queue_spec(args, quotas, stack, list(namespaces.values())),
            pulumi.ResourceOptions(parent=self),
        )
        TopLevelResource(
            wide,
            api_version=versions.KUEUE_API,
            kind="WorkloadPriorityClass",
            metadata={"name": wide, "labels": marks},
            fields={
                "value": PRIORITIES[args.priority],
                "description": f"Priority {args.priority} of tensorplane's queue {name}.",
            },
            opts=pulumi.ResourceOptions(parent=self),
        )
        for owner, inside in namespaces.items():
            k8s.apiextensions.CustomResource(
                # A dot is in no name: `a-b` is another queue.
                name if owner == stack else f"{name}.{owner}",
                api_version=versions.KUEUE_API,
                kind="LocalQueue",
                metadata={"name": name, "namespace": inside, "labels": marks},
                spec={"clusterQueue": wide},
                opts=pulumi.ResourceOptions(parent=self, depends_on=[cluster_queue]),
            )
        made = facts.QueueOutputs(name=name, gpus=sum(each.guaranteed.gpus for each in quotas))
        self.register_outputs(dict(made))


def registered(args: QueueArgs, quotas: Sequence[Quota], flavors: Mapping[str, Flavor]) -> facts.Queue:
    """What policies and reports read: plain values, known before anything exists. GPUs are counted, or cores where a
    flavor has none."""
    return facts.Queue(
        priority=args.priority,
        cpus=args.cpus,
        memoryGib=args.memory_gib,
        gpus=sum(each.guaranteed.gpus for each in quotas),
        teams=list(args.teams),
        cohort=args.cohort or "",
        kinds=[
            facts.QueueFlavor(
                name=name,
                guaranteed=each.guaranteed.counted(name),
                borrowable=each.borrowable.counted(name),
                lends=0 if args.cohort == ALONE else (each.lent or each.guaranteed).counted(name),
            )
            for each in quotas
            for name in each.flavor.counted
            if each.guaranteed.counted(name) or each.borrowable.counted(name)
        ],
        # From the oldest to the newest, also those that this queue never uses.
        machines=[
            facts.Flavor(name=name, gpus=name != CPU, max=flavor.cpus_max if name == CPU else flavor.gpus_max)
            for flavor in flavors.values()
            for name in flavor.counted
        ],
    )


def job_labels(namespace: str, queue: str) -> dict[str, str]:
    """Labels that put a job into a queue. `namespace`: the stack's."""
    return {QUEUE_LABEL: queue, PRIORITY_LABEL: cluster_wide_name(namespace, queue)}


def cluster_wide_name(namespace: str, queue: str) -> str:
    """Name of an object outside the namespace; a queue's priority class's is also a label on jobs."""
    return f"{namespace}-{queue}"


def cluster_queue_spec(
    args: QueueArgs, quotas: Sequence[Quota], stack: str, namespaces: Sequence[pulumi.Input[str]]
) -> dict[str, Any]:
    """The ClusterQueue: what it may use in which order, and whom it stops."""
    among = {"key": NAMESPACE_NAME, "operator": "In", "values": list(namespaces)}
    spec: dict[str, Any] = {
        "namespaceSelector": {"matchExpressions": [among]},
        "queueingStrategy": "BestEffortFIFO" if args.order == "bestEffort" else "StrictFIFO",
        "flavorFungibility": _FUNGIBILITY[args.priority == "high"],
        # What a queue is sure of is sure, whoever borrows it; what it borrows, it takes from nobody.
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
        spec["fairSharing"] = {"weight": _weight(args.weight)}
    return spec


# High priority waits for its card, or takes it back; the rest looks on for one that is free before it borrows or stops
# anybody.
_FUNGIBILITY = {
    True: {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"},
    False: {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"},
}


def cohort_name(stack: str, cohort: str | None) -> str:
    """Name of a cohort in the cluster; the stack's own has its namespace's."""
    return cluster_wide_name(stack, cohort) if cohort else stack


def _weight(weight: float) -> str:
    return f"{round(weight * 1000)}m" if weight % 1 else str(int(weight))


def declare_flavors(
    flavors: Mapping[str, Flavor], namespace: Namespace, opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """The kinds of machines as Kueue's objects, with the levels of the network by which it places pods on them."""
    stack = namespace.plain_name
    levels = {flavor.levels for flavor in flavors.values() if flavor.levels}
    needed = [
        _kueue("Topology", topology.object_name(stack, each), labels(stack, "queue"), topology.spec(each), opts)
        for each in sorted(levels)
    ]
    after = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=needed)) if needed else opts
    return [_declare(flavor, namespace, after) for flavor in flavors.values()]


def _declare(flavor: Flavor, namespace: Namespace, opts: pulumi.ResourceOptions) -> pulumi.Resource:
    stack = namespace.plain_name
    name = cluster_wide_name(stack, flavor.object_name)
    return _kueue("ResourceFlavor", name, labels(stack, "queue"), flavor_spec(flavor, stack), opts)


def flavor_spec(flavor: Flavor, stack: str) -> dict[str, Any]:
    """The ResourceFlavor: what leads pods to these machines, what they are made to tolerate there, and what they must
    tolerate by themselves."""
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


def declare_cohorts(
    cohorts: Mapping[str, CohortArgs], namespace: Namespace, opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """The cohorts of the settings. The stack's own needs no object: being named makes it."""
    stack = namespace.plain_name
    return [
        _kueue(
            "Cohort",
            cohort_name(stack, name),
            labels(name, "queue"),
            {
                "parentName": cohort_name(stack, args.parent),
                **({"fairSharing": {"weight": _weight(args.weight)}} if args.weight is not None else {}),
            },
            opts,
        )
        for name, args in cohorts.items()
    ]


def _kueue(
    kind: str, name: str, marks: dict[str, str], spec: dict[str, Any], opts: pulumi.ResourceOptions
) -> "k8s.apiextensions.CustomResource":
    return k8s.apiextensions.CustomResource(
        name, api_version=versions.KUEUE_API, kind=kind, metadata={"name": name, "labels": marks}, spec=spec, opts=opts
    )
