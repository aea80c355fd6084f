"""Attributes of an AKS cluster for volumes that create resources in Azure."""

from dataclasses import dataclass

import pulumi_azure_native as azure
from pulumi_azure_native import containerservice, managedidentity, resources

from components.clusters.aks.context import Context
from components.clusters.aks.network import Nodes


@dataclass(frozen=True)
class Native:
    """The cluster in Azure, for resources such as file shares and identities of workloads."""

    context: Context
    cluster: containerservice.ManagedCluster
    provider: azure.Provider
    group: resources.ResourceGroup
    identity: managedidentity.UserAssignedIdentity
    """The control plane's identity."""
    nodes: Nodes
    """The nodes' network."""
