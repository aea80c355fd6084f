"""The agent that records the GPU-hours of the stack's queues."""

from collections.abc import Mapping

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.agents.usage.state import PREFIX
from tensorplane.components.agent import lease as agent_lease
from tensorplane.components.agent.agent import TO_API_SERVER, Agent, Resources, Rights
from tensorplane.components.base import encrypted, outputs
from tensorplane.components.clusters.component import Cluster
from tensorplane.components.namespace.component import Namespace

ACCOUNT = "queue.usage"
"""Its service account. No workload can have it: their names hold no dot."""
_WORKLOADS: "tuple[k8s.rbac.v1.PolicyRuleArgsDict, ...]" = (
    {"api_groups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["list"]},
)


class Usage(pulumi.ComponentResource):
    """One per stack whose queues have GPUs. Its records are in the stack's namespace, where no team writes."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        namespace: Namespace,
        spaces: Mapping[str, str],
        teams: Mapping[str, pulumi.Input[str]],
        budgets: Mapping[str, outputs.TeamBudget],
        opts: pulumi.ResourceOptions,
    ) -> None:
        """`teams`: the teams' namespaces, by the teams' names; `spaces`: their names."""
        super().__init__(outputs.USAGE, ACCOUNT, dict(outputs.Usage(teams=sorted(teams))), opts)
        names = [f"{PREFIX}{space}" for space in (namespace.plain_name, *spaces.values())]
        records: tuple[k8s.rbac.v1.PolicyRuleArgsDict, ...] = (
            # RBAC cannot limit what is created by its name.
            {"api_groups": [""], "resources": ["configmaps"], "verbs": ["create"]},
            {"api_groups": [""], "resources": ["configmaps"], "verbs": ["get", "patch"], "resource_names": names},
        )
        rights = [
            Rights(ACCOUNT, (*_WORKLOADS, *records, agent_lease.rule(ACCOUNT)), namespace.name),
            *(Rights(ACCOUNT, _WORKLOADS, space, resource_name=f"{ACCOUNT}.{team}") for team, space in teams.items()),
        ]
        agent = Agent(
            "usage",
            name=ACCOUNT,
            component="usage",
            namespace=namespace.name,
            image=cluster.args.images.python,
            resources=Resources(cpu="10m", memory="48Mi", memory_limit="256Mi"),
            rights=rights,
            egress=[TO_API_SERVER],
            leased=True,
            opts=pulumi.ResourceOptions(parent=self),
        )
        agent.deployment(agent.pod([namespace.name, namespace.name, *teams.values()]))
        made = outputs.UsageOutputs(budgets=dict(budgets))
        self.register_outputs(encrypted.concealed(dict(made)))
