"""The cluster's identity in Azure, and its rights: Azure's built-in roles by their ids, and who is granted which."""

from collections.abc import Iterable
from typing import Literal

import pulumi
from pulumi_azure_native import authorization, managedidentity

from tensorplane.components.base import names
from tensorplane.components.clusters.aks.context import Context
from tensorplane.components.node_groups.shape import Shape

# learn.microsoft.com/azure/role-based-access-control/built-in-roles
NETWORK_CONTRIBUTOR = "4d97b98b-1d4f-4787-a291-c67834d212e7"
"""Joins nodes and load balancers to a subnet."""
CONTRIBUTOR = "b24988ac-6180-42a0-ab88-20f7382dd24c"
"""Uses a capacity reservation group (learn.microsoft.com/azure/aks/use-capacity-reservation-groups)."""
READER = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
"""Reads a disk encryption set, which disks that use it require."""
STORAGE_ACCOUNT_CONTRIBUTOR = "17d1049b-9a84-46fb-8f53-869881c3d3ab"
"""Creates, resizes and snapshots shares."""
STORAGE_FILE_DATA_PRIVILEGED_CONTRIBUTOR = "69566ab7-960f-475b-8e7c-b3118f30c6bd"
"""Reads and writes files of a share, which a restore requires."""
KEY_VAULT_CRYPTO_USER = "12338af0-0e69-4776-bea7-57ae8d297424"
"""Encrypts and decrypts with a vault's keys."""
CLUSTER_ADMIN = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"
"""All rights on Kubernetes' objects (Azure Kubernetes Service RBAC Cluster Admin)."""

CLUSTER_USER = "4abbcc35-e782-43d8-92c5-2d3f1bd2253f"
"""Reads a kubeconfig without credentials, `az aks get-credentials` (Azure Kubernetes Service Cluster User Role)."""


def definition(role: str, scope: str) -> str:
    """The role's full id in a subscription, as Azure returns it."""
    subscription = "/".join(scope.split("/")[:3])
    return f"{subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}"


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
    """Assigns a role. With the principal's type, Azure does not look up an identity that may be too new to be found."""
    return authorization.RoleAssignment(
        f"{context.name}-{suffix}",
        role_definition_id=pulumi.Output.from_input(scope).apply(lambda scope_id: definition(role, scope_id)),
        scope=scope,
        principal_id=principal,
        principal_type=kind,
        opts=context.opts,
    )


def reservations(
    context: Context, identity: managedidentity.UserAssignedIdentity, groups: Iterable[Shape]
) -> list[pulumi.Resource]:
    """Allows the control plane to use the capacity reservation groups of node groups, once each."""
    wanted = {shape.args.reserved.id.lower(): shape.args.reserved.id for shape in groups if shape.args.reserved}
    return [
        grant(context, f"reserved-{names.digest(key)}", CONTRIBUTOR, scope, identity.principal_id)
        for key, scope in sorted(wanted.items())
    ]
