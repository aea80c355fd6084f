"""What lets a team's members ask the model servers to which they can publish: `tensorplane predict --team`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.base.labels import labels
from tensorplane.components.teams import members
from tensorplane.stack import team_members, team_settings
from tensorplane.stack.resolved import ResolvedStack
from tensorplane.workloads.model_server.manifest import REST_PORT

if TYPE_CHECKING:
    from tensorplane.components.namespace.component import Namespace


def allow(resolved: ResolvedStack, namespace: Namespace, opts: pulumi.ResourceOptions) -> None:
    """Creates the roles in the stack's namespace, and their bindings.

    A role names the REST port of each server, which the API server then forwards requests to, and nothing else.
    """
    config = resolved.config
    for team, known in team_members.known(config).items():
        names = [f"http:{server}:{REST_PORT}" for server in team_settings.servers(resolved, team)]
        if not names:
            continue
        who = [members.subject(member) for member in known]
        about: Any = {"name": f"team-{team}-servers", "namespace": namespace.name, "labels": labels(team, "queue")}
        rule: Any = {"api_groups": [""], "resources": ["services/proxy"], "resource_names": names}
        rule["verbs"] = ["get", "create"]
        role = k8s.rbac.v1.Role(f"{team}-servers", metadata=about, rules=[rule], opts=opts)
        reference: Any = {"api_group": members.RBAC, "kind": "Role", "name": role.metadata["name"]}
        k8s.rbac.v1.RoleBinding(f"{team}-servers", metadata=about, role_ref=reference, subjects=who, opts=opts)
