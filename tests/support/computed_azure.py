"""What Azure adds to a resource that the stack goes on to read: the least of it, by type."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

_KUBECONFIG = b"""
clusters:
- name: demo
  cluster: {server: "https://aks.example:443", certificate-authority-data: Y2E=}
users:
- name: somebody
  user: {token: not-to-be-kept}
"""


def _with_name(key: str, **more: Any) -> Callable[[str, Mapping[str, Any]], dict[str, Any]]:
    """Azure gives a resource's name back as `name`, whatever the input is called."""
    return lambda name, inputs: {"name": inputs.get(key, name), **more}


def _deployment(name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    kubeconfig = {"type": "String", "value": base64.b64encode(_KUBECONFIG).decode()}
    return {"properties": {**inputs["properties"], "outputs": {"kubeconfig": kubeconfig}}}


def _identified(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Of identities, a list goes in and a map comes out."""
    if "identity" not in inputs:
        return {}
    identities: dict[str, Any] = {each: {} for each in inputs["identity"]["userAssignedIdentities"]}
    return {"identity": {**inputs["identity"], "userAssignedIdentities": identities}}


def _lustre(name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    address = {"mgsAddress": "10.0.128.4"}
    return {"name": inputs["amlFilesystemName"], "clientInfo": address, **_identified(inputs)}


def _netapp_volume(name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": inputs["volumeName"], "mountTargets": [{"ipAddress": "10.0.64.4", "fileSystemId": "f"}]}


_IDENTITY = {
    "principalId": "00000000-0000-0000-0000-00000000000a",
    "tenantId": "00000000-0000-0000-0000-00000000000b",
}
ADDED: dict[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]] = {
    "azure-native:resources:ResourceGroup": _with_name("resourceGroupName"),
    "azure-native:resources:Deployment": _deployment,
    "azure-native:network:VirtualNetwork": _with_name("virtualNetworkName"),
    "azure-native:network:PublicIPAddress": lambda name, inputs: {"ipAddress": "203.0.113.9"},
    "azure-native:managedidentity:UserAssignedIdentity": _with_name("resourceName", **_IDENTITY),
    "azure-native:keyvault:Vault": _with_name("vaultName"),
    "azure-native:keyvault:Key": lambda name, inputs: {"keyUriWithVersion": "https://vault.example/keys/etcd/1"},
    "azure-native:containerservice:ManagedCluster": lambda name, inputs: {
        "name": inputs["resourceName"],
        **_identified(inputs),
    },
    "azure-native:resources:AzureCliScript": lambda name, inputs: _identified(inputs),
    "azure-native:storage:StorageAccount": lambda name, inputs: {"name": f"{name}1a2b3c4d", **_identified(inputs)},
    "azure-native:network:PrivateEndpoint": lambda name, inputs: {"name": name},
    "azure-native:privatedns:PrivateZone": _with_name("privateZoneName"),
    "azure-native:netapp:Account": _with_name("accountName"),
    "azure-native:netapp:CapacityPool": _with_name("poolName"),
    "azure-native:netapp:CapacityPoolVolume": _netapp_volume,
    "azure-native:storagecache:AmlFilesystem": _lustre,
}
