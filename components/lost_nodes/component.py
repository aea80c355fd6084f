"""The agent that ends or replaces the stack's pods on lost nodes (`agents/lost_nodes`): settings, rights, Deployment.

Kubernetes gives a node up after 40 to 50 seconds without heartbeats, leaves its pods for another five minutes, and then
waits for their end, which a node that is cut off never reports. The agent ends those at once for which that is safe, as
their annotation says. It evicts pods from nodes that announce their end, and from failing devices. Of its two pods, the
one that waits for its turn watches the nodes, and acts in time if the other one's node is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.agent import lease as agent_lease
from tensorplane.components.agent.agent import TO_API_SERVER, Agent, Resources, Rights
from tensorplane.components.base import outputs
from tensorplane.components.clusters.component import Cluster
from tensorplane.components.controllers.component import Controller
from tensorplane.components.lost_nodes.settings import NodesArgs
from tensorplane.components.namespace.component import Namespace

ACCOUNT = "nodes.lost"
"""Its service account. No workload can have it: their names hold no dot."""
_LEASES = "kube-node-lease"
_NODES: tuple[k8s.rbac.v1.PolicyRuleArgsDict, ...] = (
    {"api_groups": [""], "resources": ["nodes"], "verbs": ["list", "patch", "watch"]},
)
_HEARTBEATS: tuple[k8s.rbac.v1.PolicyRuleArgsDict, ...] = (
    {"api_groups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list"]},
)
_PODS: tuple[k8s.rbac.v1.PolicyRuleArgsDict, ...] = (
    {"api_groups": [""], "resources": ["pods"], "verbs": ["list", "delete"]},
    {"api_groups": [""], "resources": ["pods/status"], "verbs": ["patch"]},
    {"api_groups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    {"api_groups": [""], "resources": ["events"], "verbs": ["create"]},
)
_TOLERATED_SECONDS = 10


class LostNodes(pulumi.ComponentResource):
    """One per stack whose cluster has several nodes."""

    def __init__(
        self,
        args: NodesArgs,
        *,
        cluster: Cluster,
        namespace: Namespace,
        teams: Mapping[str, pulumi.Input[str]],
        controllers: Sequence[Controller],
        opts: pulumi.ResourceOptions,
    ) -> None:
        """`teams`: the teams' namespaces, by the teams' names. `controllers`: those that jobs wait for."""
        super().__init__(outputs.LOST_NODES, ACCOUNT, dict(outputs.LostNodes(teams=sorted(teams))), opts)
        stack = namespace.plain_name
        spaces = {**teams, **{each.namespace: each.namespace for each in controllers}}
        agent = Agent(
            "lost_nodes",
            name=ACCOUNT,
            component="lost-nodes",
            namespace=namespace.name,
            image=cluster.args.images.python,
            resources=Resources(cpu="10m", memory="48Mi", memory_limit="256Mi"),
            rights=[
                Rights(f"{stack}.{ACCOUNT}", _NODES),
                Rights(f"{stack}.{ACCOUNT}", _HEARTBEATS, _LEASES, resource_name=f"{ACCOUNT}.heartbeats"),
                Rights(ACCOUNT, (*_PODS, agent_lease.rule(ACCOUNT)), namespace.name),
                *(Rights(ACCOUNT, _PODS, space, resource_name=f"{ACCOUNT}.{name}") for name, space in spaces.items()),
            ],
            egress=[TO_API_SERVER],
            leased=True,
            # Their charts create their namespaces.
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(controllers)),
        )
        values = {
            "LOST_AFTER_SECONDS": str(args.lost_after_seconds or ""),
            "CONTROLLERS": " ".join(sorted(each.namespace for each in controllers)),
        }
        env: list[k8s.core.v1.EnvVarArgsDict] = [
            {"name": key, "value": value} for key, value in values.items() if value
        ]
        pod = agent.pod([namespace.name, *teams.values()], env=env)
        agent.deployment({**pod, "tolerations": _tolerations()}, replicas=2)
        self.register_outputs({})


def _tolerations() -> list[k8s.core.v1.TolerationArgsDict]:
    return [
        {
            "key": f"node.kubernetes.io/{condition}",
            "operator": "Exists",
            "effect": "NoExecute",
            "toleration_seconds": _TOLERATED_SECONDS,
        }
        for condition in ("not-ready", "unreachable")
    ]
