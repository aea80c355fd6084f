"""The Lease by which one pod of an agent acts at a time (`agents/lease.py`), and who may write it."""

from __future__ import annotations

from tensorplane.agents.leader_election import LEASE, POD
from tensorplane.components.agent.health import lease_name
from tensorplane.components.base.labels import AGENT, labels
from tensorplane.components.base.sdk import k8s, pulumi

GRACE_SECONDS = 5
"""How long a pod may end what it does before it releases its Lease. Otherwise another one waits until that runs out."""


def rule(agent: str) -> k8s.rbac.v1.PolicyRuleArgsDict:
    """What the agent needs in its namespace. The platform creates the Lease: RBAC cannot limit that to a name."""
    return {
        "api_groups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resource_names": [lease_name(agent)],
        "verbs": ["get", "patch"],
    }


def create(
    resource_name: str,
    program: str,
    *,
    agent: str,
    component: str,
    namespace: pulumi.Input[str],
    opts: pulumi.ResourceOptions,
) -> pulumi.Resource:
    """Creates the Lease, which nobody holds yet. `program`: the folder of `agents/`."""
    return k8s.coordination.v1.Lease(
        resource_name,
        metadata={
            "name": lease_name(agent),
            "namespace": namespace,
            "labels": {**labels(agent, component), AGENT: program},
        },
        # The agent writes it.
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["spec"])),
    )


def environment(agent: str, namespace: pulumi.Input[str]) -> list[k8s.core.v1.EnvVarArgsDict]:
    """The variables that `agents.leader_election.begin` reads."""
    return [
        {"name": LEASE, "value": pulumi.Output.concat(namespace, "/", lease_name(agent))},
        {"name": POD, "value_from": {"field_ref": {"field_path": "metadata.name"}}},
    ]
