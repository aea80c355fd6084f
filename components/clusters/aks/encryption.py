"""The key that encrypts Kubernetes' objects in etcd, in a vault that cannot be purged."""

from dataclasses import dataclass

import pulumi
from pulumi_azure_native import authorization, keyvault, managedidentity

from tensorplane.components.clusters.aks import access
from tensorplane.components.clusters.aks.access import grant
from tensorplane.components.clusters.aks.context import Context

_KEPT_DAYS = 90


@dataclass(frozen=True)
class Encryption:
    """A key that the control plane can use."""

    key: pulumi.Output[str]
    """The key's URL with its version, as AKS requires."""
    ready: list[pulumi.Resource]
    """Resources that must exist before a cluster can use it."""


def etcd(context: Context, identity: managedidentity.UserAssignedIdentity) -> Encryption:
    """The cluster's own key. Without it the cluster's data is lost, so it is always protected."""
    vault = keyvault.Vault(
        f"{context.name}-keys",
        properties={
            "tenant_id": identity.tenant_id,
            "sku": {"family": "A", "name": keyvault.SkuName.STANDARD},
            "enable_rbac_authorization": True,
            "enable_purge_protection": True,
            "soft_delete_retention_in_days": _KEPT_DAYS,
            # The control plane is outside the VNet and cannot reach a vault with a firewall. Roles restrict access.
            "public_network_access": "Enabled",
        },
        opts=context.protected,
        **context.common,
    )
    key = keyvault.Key(
        f"{context.name}-etcd",
        resource_group_name=context.resource_group.name,
        vault_name=vault.name,
        properties={"kty": "RSA", "key_size": 2048},
        opts=context.protected,
    )
    use = grant(context, "etcd-key", access.KEY_VAULT_CRYPTO_USER, vault.id, identity.principal_id)
    ready: list[pulumi.Resource] = [key, use]
    if context.args.deletion_protection:
        # On the vault, because a lock on the cluster would prevent the replacement of agent pools.
        ready.append(
            authorization.ManagementLockByScope(
                f"{context.name}-keys",
                scope=vault.id,
                level="CanNotDelete",
                notes="Without this key, the cluster's etcd cannot be read.",
                opts=context.after(use),
            )
        )
    return Encryption(key.key_uri_with_version, ready)
