"""The agent that returns the quota of admitted jobs that cannot start, and takes flavors without nodes out: its rights
and its Deployment.

Kueue waits 20 minutes for the pods of a job that it admits. It cannot distinguish pods that the API server refuses, or
that no node will ever fit, from pods that wait for a node or an image. An AdmissionCheck could, but would delay every
admission. The agent checks admitted jobs and evicts those that cannot start; while it is down, the 20 minutes hold.

Where Kueue places pods by their node, nothing adds nodes, and the agent taints the ResourceFlavors none of whose nodes
takes pods.
"""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components import versions
from tensorplane.components.agent import lease as agent_lease
from tensorplane.components.agent.agent import TO_API_SERVER, Agent, Resources, Rights
from tensorplane.components.base import outputs
from tensorplane.components.base.labels import labels
from tensorplane.components.clusters.component import Cluster
from tensorplane.components.namespace.component import Namespace
from tensorplane.components.queues.flavors import Flavor
from tensorplane.components.queues.manifest import cluster_wide_name

ACCOUNT = "queue.quota-return"
"""Its service account. No workload can have it: their names hold no dot."""
_RULES: "tuple[k8s.rbac.v1.PolicyRuleArgsDict, ...]" = (
    {"api_groups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["list", "patch"]},
    {"api_groups": ["batch"], "resources": ["jobs"], "verbs": ["list"]},
    {"api_groups": [""], "resources": ["pods", "events"], "verbs": ["list"]},
)


class QuotaReturn(pulumi.ComponentResource):
    """One per stack that installs Kueue and whose queues have GPUs: another Kueue evicts as its owner decides."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        namespace: Namespace,
        teams: Mapping[str, pulumi.Input[str]],
        flavors: Sequence[Flavor],
        opts: pulumi.ResourceOptions,
    ) -> None:
        """`teams`: the teams' namespaces, by the teams' names. `flavors`: those of the stack's queues."""
        super().__init__(outputs.QUOTA_RETURN, ACCOUNT, dict(outputs.QuotaReturn(teams=sorted(teams))), opts)
        stack, inside = namespace.plain_name, pulumi.ResourceOptions(parent=self)
        placed = [cluster_wide_name(stack, each.object_name) for each in flavors if each.levels]
        cohort = _cohort(stack, inside) if placed else ""
        rights = [
            *([_of_flavors(stack, placed, cohort)] if placed else []),
            Rights(ACCOUNT, (*_RULES, agent_lease.rule(ACCOUNT)), namespace.name),
            *(Rights(ACCOUNT, _RULES, space, resource_name=f"{ACCOUNT}.{team}") for team, space in teams.items()),
        ]
        agent = Agent(
            "quota_return",
            name=ACCOUNT,
            component="quota-return",
            namespace=namespace.name,
            image=cluster.args.images.python,
            resources=Resources(cpu="10m", memory="48Mi", memory_limit="256Mi"),
            rights=rights,
            egress=[TO_API_SERVER],
            leased=True,
            opts=inside,
        )
        # Nothing adds nodes to the embedded cluster, so no event says that none is added.
        nodes_are_added = str(cluster.args.kind != "embedded").lower()
        env: list[k8s.core.v1.EnvVarArgsDict] = [{"name": "NODES_ARE_ADDED", "value": nodes_are_added}]
        if placed:
            env += [{"name": "FLAVORS", "value": " ".join(placed)}, {"name": "COHORT", "value": cohort}]
        agent.deployment(agent.pod([namespace.name, *teams.values()], env=env))
        self.register_outputs({})


def _of_flavors(stack: str, flavors: Sequence[str], cohort: str) -> Rights:
    """Nodes and the stack's flavors and cohort are cluster-wide."""
    group, change = ["kueue.x-k8s.io"], ["get", "patch"]
    rules: tuple[k8s.rbac.v1.PolicyRuleArgsDict, ...] = (
        {"api_groups": [""], "resources": ["nodes"], "verbs": ["list"]},
        {"api_groups": group, "resources": ["resourceflavors"], "verbs": change, "resource_names": [*flavors]},
        {"api_groups": group, "resources": ["cohorts"], "verbs": change, "resource_names": [cohort]},
    )
    return Rights(cluster_wide_name(stack, ACCOUNT), rules)


def _cohort(stack: str, opts: pulumi.ResourceOptions) -> str:
    """The cohort in which the agent lists the flavors that it has tainted; its name. It has no queues and no quota."""
    # Names of cohorts in the settings have no dots.
    name = f"{stack}.without-nodes"
    k8s.apiextensions.CustomResource(
        name,
        api_version=versions.KUEUE_API,
        kind="Cohort",
        metadata={"name": name, "labels": labels("without-nodes", "queue")},
        spec={"parentName": stack},
        opts=opts,
    )
    return name
