"""What the members of a team may do: create, see and stop jobs in its namespace, and read the queues; nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tensorplane.components.base.labels import labels
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.namespace.rules import DNS

_READ = ["get", "list", "watch"]
RBAC = "rbac.authorization.k8s.io"
RULES: Sequence[Mapping[str, Any]] = (
    # `patch` and `create` are what server-side apply of a new object requires.
    {"api_groups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": [*_READ, "create", "patch", "delete"]},
    {"api_groups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create", "patch"]},
    {"api_groups": [""], "resources": ["pods", "events"], "verbs": _READ},
    {"api_groups": [""], "resources": ["limitranges"], "verbs": ["list"]},
    {"api_groups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    {"api_groups": ["kueue.x-k8s.io"], "resources": ["workloads", "localqueues"], "verbs": _READ},
)
"""In the team's namespace."""
CLUSTER_RULES: Sequence[Mapping[str, Any]] = (
    {
        "api_groups": ["kueue.x-k8s.io"],
        "resources": ["clusterqueues", "cohorts", "resourceflavors", "workloadpriorityclasses"],
        "verbs": _READ,
    },
    {
        "api_groups": ["visibility.kueue.x-k8s.io"],
        "resources": ["clusterqueues/pendingworkloads"],
        "verbs": ["get"],
    },
)
"""In the cluster: what the queues have, and who waits in them."""


def allow(
    teams: Mapping[str, Sequence[str]],
    namespaces: Mapping[str, pulumi.Input[str]],
    stack: str,
    opts: pulumi.ResourceOptions,
) -> None:
    """Creates the roles and their bindings. `teams`: each one's members as Kubernetes knows them, `group:NAME` and
    `user:NAME`. `namespaces`: those of the teams. `stack`: the stack's namespace."""
    subjects = {team: [subject(member) for member in members] for team, members in teams.items()}
    for team, members in subjects.items():
        about: Any = {"name": "team-members", "namespace": namespaces[team], "labels": labels(team, "queue")}
        rules: Any = [dict(rule) for rule in RULES]
        role = k8s.rbac.v1.Role(f"{team}-members", metadata=about, rules=rules, opts=opts)
        reference: Any = {"api_group": RBAC, "kind": "Role", "name": role.metadata["name"]}
        k8s.rbac.v1.RoleBinding(f"{team}-members", metadata=about, role_ref=reference, subjects=members, opts=opts)
        _isolate(team, namespaces[team], opts)
    if subjects:
        _everywhere(stack, [each for members in subjects.values() for each in members], opts)


def group(stack: str, team: str) -> str:
    """The group of a team's members where the stack decides who is in which. `stack`: the stack's namespace."""
    return f"{stack}:{team}"


def subject(member: str) -> Any:
    """The subject of role bindings for a member, `group:NAME` or `user:NAME`."""
    kind, _, name = member.partition(":")
    return {"api_group": RBAC, "kind": kind.capitalize(), "name": name}


def _everywhere(stack: str, members: list[Any], opts: pulumi.ResourceOptions) -> None:
    name = f"{stack}-team-members"
    about: Any = {"name": name, "labels": labels(stack, "queue")}
    rules: Any = [dict(rule) for rule in CLUSTER_RULES]
    role = k8s.rbac.v1.ClusterRole(name, metadata=about, rules=rules, opts=opts)
    reference: Any = {"api_group": RBAC, "kind": "ClusterRole", "name": role.metadata["name"]}
    k8s.rbac.v1.ClusterRoleBinding(name, metadata=about, role_ref=reference, subjects=members, opts=opts)


def _isolate(team: str, namespace: pulumi.Input[str], opts: pulumi.ResourceOptions) -> None:
    """Pods of the namespace connect to each other and to DNS."""
    peers: Any = {"pod_selector": {}}
    spec: Any = {
        "pod_selector": {},
        "policy_types": ["Ingress", "Egress"],
        "ingress": [{"from_": [peers]}],
        "egress": [{"to": [peers]}, DNS],
    }
    about: Any = {"name": "team", "namespace": namespace, "labels": labels(team, "network")}
    k8s.networking.v1.NetworkPolicy(f"{team}-team", metadata=about, spec=spec, opts=opts)
