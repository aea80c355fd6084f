"""The queues, flavors and cohorts of a stack as resources of Kueue."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components import versions
from tensorplane.components.base import encrypted, outputs
from tensorplane.components.base.custom_resource import top_level_resource
from tensorplane.components.base.labels import (
    NODE_PRICES,
    PATCH_FORCE,
    labels,
)
from tensorplane.components.namespace.component import Namespace
from tensorplane.components.queues import quota, topology
from tensorplane.components.queues.flavors import Flavor
from tensorplane.components.queues.manifest import (
    cluster_queue_spec,
    cluster_wide_name,
    cohort_name,
    flavor_spec,
    queue_weight,
    registered,
)
from tensorplane.components.queues.settings import PRIORITIES, CohortArgs, QueueArgs


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
        top_level_resource(
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
                **({"fairSharing": {"weight": queue_weight(args.weight)}} if args.weight is not None else {}),
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
) -> k8s.apiextensions.CustomResource:
    return k8s.apiextensions.CustomResource(
        name,
        api_version=versions.KUEUE_API,
        kind=kind,
        metadata={"name": name, "labels": object_labels, **({"annotations": annotations} if annotations else {})},
        spec=spec,
        opts=opts,
    )
