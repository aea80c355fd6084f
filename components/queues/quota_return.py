"""The agent that returns the quota of admitted jobs that cannot start: its rights and its Deployment.

Kueue waits 20 minutes for the pods of a job that it admits. It cannot distinguish pods that the API server refuses, or
that no node will ever fit, from pods that wait for a node or an image. An AdmissionCheck could, but would delay every
admission. The agent checks admitted jobs and evicts those that cannot start; while it is down, the 20 minutes hold.
"""

from collections.abc import Mapping

import pulumi
import pulumi_kubernetes as k8s

from components.agent import TO_API_SERVER, Agent, Resources, Rights
from components.base import agent_facts, facts
from components.clusters.component import Cluster
from components.namespace import Namespace

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
        opts: pulumi.ResourceOptions,
    ) -> None:
        """`teams`: the teams' namespaces, by the teams' names."""
        super().__init__(facts.QUOTA_RETURN, ACCOUNT, dict(agent_facts.QuotaReturn(teams=sorted(teams))), opts)
        rights = [
            Rights(ACCOUNT, _RULES, namespace.name),
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
            opts=pulumi.ResourceOptions(parent=self),
        )
        # Nothing adds nodes to the embedded cluster, so no event says that none is added.
        nodes_are_added = str(cluster.args.kind != "embedded").lower()
        env: list[k8s.core.v1.EnvVarArgsDict] = [{"name": "NODES_ARE_ADDED", "value": nodes_are_added}]
        agent.deployment(agent.pod([namespace.name, *teams.values()], env=env))
        self.register_outputs({})
