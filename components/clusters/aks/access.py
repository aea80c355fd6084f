"""The cluster's identity in Azure, and its rights."""

from collections.abc import Iterable
from typing import Literal

import pulumi
from pulumi_azure_native import authorization, managedidentity

from components.base import names
from components.clusters.aks import roles
from components.clusters.aks.context import Context
from components.node_groups.shape import Shape


def control_plane(context: Context) -> managedidentity.UserAssignedIdentity:
    """The control plane's identity, created before the cluster so that its rights exist, too."""
    return managedidentity.UserAssignedIdentity(f"{context.name}-control-plane", opts=context.opts, **context.common)


def grant(
    context: Context,
    suffix: str,
    role: str,
    scope: pulumi.Input[str],
    principal: pulumi.Input[str],
    kind: Literal["ServicePrincipal", "Group", "User"] = "ServicePrincipal",
) -> authorization.RoleAssignment:
    """Assign a role. With the principal's type, Azure does not look up an identity that may be too new to be found."""
    return authorization.RoleAssignment(
        f"{context.name}-{suffix}",
        role_definition_id=pulumi.Output.from_input(scope).apply(lambda scope_id: roles.definition(role, scope_id)),
        scope=scope,
        principal_id=principal,
        principal_type=kind,
        opts=context.opts,
    )


def reservations(
    context: Context, identity: managedidentity.UserAssignedIdentity, groups: Iterable[Shape]
) -> list[pulumi.Resource]:
    """Allow the control plane to use the capacity reservation groups of node groups, once each."""
    wanted = {shape.args.reserved.id.lower(): shape.args.reserved.id for shape in groups if shape.args.reserved}
    return [
        grant(context, f"reserved-{names.digest(key)}", roles.CONTRIBUTOR, scope, identity.principal_id)
        for key, scope in sorted(wanted.items())
    ]
