"""Who the cluster is towards Azure, and what it may do there."""

from typing import Literal

import pulumi
from pulumi_azure_native import authorization, managedidentity

from components.aks import roles
from components.aks.context import Context


def control_plane(context: Context) -> managedidentity.UserAssignedIdentity:
    """The control plane's identity. It is there before the cluster, so that its rights can be, too."""
    return managedidentity.UserAssignedIdentity(f"{context.name}-control-plane", opts=context.opts, **context.common)


def grant(
    context: Context,
    suffix: str,
    role: str,
    scope: pulumi.Input[str],
    principal: pulumi.Input[str],
    kind: Literal["ServicePrincipal", "Group"] = "ServicePrincipal",
) -> authorization.RoleAssignment:
    """Give a role. Its kind spares Azure to look up an identity that may be too new to be found."""
    return authorization.RoleAssignment(
        f"{context.name}-{suffix}",
        role_definition_id=context.group.id.apply(lambda group: roles.definition(role, group)),
        scope=scope,
        principal_id=principal,
        principal_type=kind,
        opts=context.opts,
    )
