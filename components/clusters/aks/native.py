"""What volumes that create resources in Azure need: attributes of an AKS cluster, and names within Azure's limits."""

import re
from dataclasses import dataclass

import pulumi_azure_native as azure
from pulumi_azure_native import containerservice, managedidentity, resources

from tensorplane.components.base.names import digest, shorten
from tensorplane.components.clusters.aks.context import Context
from tensorplane.components.clusters.aks.network import NodeNetwork

_HASHED = 8


def short_name(name: str, limit: int) -> str:
    """The name, shortened with a hash suffix if it exceeds the limit."""
    return shorten(name, limit, _HASHED)


def alphanumeric(name: str, unique: str, limit: int) -> str:
    """Name of a storage account: a prefix without dashes, and a hash of the unique name."""
    plain = re.sub(r"[^a-z0-9]", "", name)
    return plain[: limit - _HASHED] + digest(unique, _HASHED)


@dataclass(frozen=True)
class Native:
    """The cluster in Azure, for resources such as file shares and identities of workloads."""

    context: Context
    cluster: containerservice.ManagedCluster
    provider: azure.Provider
    resource_group: resources.ResourceGroup
    identity: managedidentity.UserAssignedIdentity
    """The control plane's identity."""
    node_network: NodeNetwork
    """The nodes' network."""
