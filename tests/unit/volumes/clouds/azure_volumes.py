"""Settings of volumes on AKS that tests of them begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

AKS = {"kind": "aks", "region": "westeurope", "inheritedAdmins": True, "endpoint": {"deployFromInside": True}}
SUBSCRIPTION = "/subscriptions/3f2504e0-4f89-41d3-9a0c-0305e82c3301/resourceGroups/g/providers"
SUBNET = f"{SUBSCRIPTION}/Microsoft.Network/virtualNetworks/v/subnets/n"
IDENTITY = f"{SUBSCRIPTION}/Microsoft.ManagedIdentity/userAssignedIdentities/i"
CONTAINERS = f"{SUBSCRIPTION}/Microsoft.Storage/storageAccounts/a/blobServices/default/containers"
SNAPSHOT = f"{SUBSCRIPTION}/Microsoft.NetApp/netAppAccounts/tensorplane-dev/capacityPools/%s/volumes/v/snapshots/s"
OWN = {**AKS, "network": {"subnet": SUBNET}}
FILES = {"backend": {"kind": "azureFiles"}, "sizeGib": 100}
DISK = {"backend": {"kind": "azureDisk"}}
NETAPP = {"backend": {"kind": "netappFiles"}, "sizeGib": 100}
LUSTRE = {"backend": {"kind": "azureLustre"}, "sizeGib": 16384}
HOURLY = {"schedule": "0 * * * *", "keep": 24}


def backend(volume: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {**volume, "backend": {**volume["backend"], **more}}
