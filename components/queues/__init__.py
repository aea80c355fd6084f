"""Queues that share the cluster between jobs: Kueue's objects from a few settings and the node groups."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components import versions
from tensorplane.components.base import encrypted, outputs
from tensorplane.components.base.custom_resource import TopLevelResource
from tensorplane.components.base.labels import (
    NAMESPACE_NAME,
    NODE_PRICES,
    PATCH_FORCE,
    PRIORITY_LABEL,
    QUEUE_LABEL,
    labels,
)
from tensorplane.components.namespace import Namespace
from tensorplane.components.node_groups.labels import CPU
from tensorplane.components.queues import quota, topology
from tensorplane.components.queues.flavors import Flavor
from tensorplane.components.queues.quota import Quota
from tensorplane.components.queues.settings import ALONE, PRIORITIES, CohortArgs, QueueArgs, TeamArgs

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
        super().__init__(outputs.QUEUE, name, dict(registered(args, quotas, flavors)), opts)
        # Cluster-wide names, shared with every other stack on the cluster.
        stack = namespace.plain_name
        wide = cluster_wide_name(stack, name)
        object_labels = labels(name, "queue")
        namespaces = {stack: namespace.name, **{team: teams[team] for team in args.teams if team in teams}}
        cluster_queue = _kueue(
            "ClusterQueue",
            wide,
            object_labels,
            cluster_queue_spec(args, quotas, stack, list(namespaces.values())),
            pulumi.ResourceOptions(parent=self),
        )
        TopLevelResource(
            wide,
            api_version=versions.KUEUE_API,
            kind="WorkloadPriorityClass",
            metadata={"name": wide, "labels": object_labels},
            fields={
                "value": PRIORITIES[args.priority],
                "description": f"Priority {args.priority} of tensorplane's queue {name}.",
            },
            opts=pulumi.ResourceOptions(parent=self),
        )
        for owner, inside in namespaces.items():
            k8s.apiextensions.CustomResource(
                # Names have no dots, so no other queue can have this name: `a-b` could be one.
                name if owner == stack else f"{name}.{owner}",
                api_version=versions.KUEUE_API,
                kind="LocalQueue",
                metadata={"name": name, "namespace": inside, "labels": object_labels},
                spec={"clusterQueue": wide},
                opts=pulumi.ResourceOptions(parent=self, depends_on=[cluster_queue]),
            )
        guaranteed = sum(each.guaranteed.gpus for each in quotas)
        made = outputs.QueueOutputs(name=name, gpus=guaranteed, priority=args.priority)
        self.register_outputs(encrypted.concealed(dict(made)))


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
        spec["fairSharing"] = {"weight": _weight(args.weight)}
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


def _weight(weight: float) -> str:
    return f"{round(weight * 1000)}m" if weight % 1 else str(int(weight))


def declare_flavors(
    flavors: Mapping[str, Flavor], namespace: Namespace, opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """Creates the ResourceFlavors, and the Topologies by which Kueue places pods on their nodes."""
    stack = namespace.plain_name
    levels = {flavor.levels for flavor in flavors.values() if flavor.levels}
    depends_on = [
        _kueue("Topology", topology.object_name(stack, each), labels(stack, "queue"), topology.spec(each), opts)
        for each in sorted(levels)
    ]
    after = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=depends_on)) if depends_on else opts
    return [_declare(flavor, namespace, after) for flavor in flavors.values()]


def _declare(flavor: Flavor, namespace: Namespace, opts: pulumi.ResourceOptions) -> pulumi.Resource:
    stack = namespace.plain_name
    name = cluster_wide_name(stack, flavor.object_name)
    # `tensorplane jobs` reads what jobs cost from the cluster, also those of other stacks.
    prices = json.dumps([price.plain() for price in flavor.prices])
    notes = {NODE_PRICES: prices} if flavor.prices else {}
    if flavor.levels:
        # The agent of `quota_return` adds a taint while none of its nodes takes pods.
        notes[PATCH_FORCE] = "true"
    return _kueue("ResourceFlavor", name, labels(stack, "queue"), flavor_spec(flavor, stack), opts, notes)


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


def declare_cohorts(
    cohorts: Mapping[str, CohortArgs], namespace: Namespace, opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """Creates the cohorts of the settings. Kueue creates the stack's own because the queues name it."""
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
    kind: str,
    name: str,
    object_labels: dict[str, str],
    spec: dict[str, Any],
    opts: pulumi.ResourceOptions,
    annotations: dict[str, str] | None = None,
) -> "k8s.apiextensions.CustomResource":
    return k8s.apiextensions.CustomResource(
        name,
        api_version=versions.KUEUE_API,
        kind=kind,
        metadata={"name": name, "labels": object_labels, **({"annotations": annotations} if annotations else {})},
        spec=spec,
        opts=opts,
    )
