"""Resource ids of Azure in the settings: what kind of resource each has to be."""

import re
from collections.abc import Iterator

from components.base.faults import Fault, Key

DISK_ENCRYPTION_SET = "Microsoft.Compute/diskEncryptionSets"
DNS_ZONE = "Microsoft.Network/privateDnsZones"
IDENTITY = "Microsoft.ManagedIdentity/userAssignedIdentities"
VAULT = "Microsoft.KeyVault/vaults"
SUBNET = "Microsoft.Network/virtualNetworks/…/subnets"
CONTAINER = "Microsoft.Storage/storageAccounts/…/blobServices/default/containers"
NETAPP_SNAPSHOT = "Microsoft.NetApp/netAppAccounts/…/capacityPools/…/volumes/…/snapshots"


def parts(value: str, kind: str) -> tuple[str, ...] | None:
    """The names in an id of this kind of resource, outermost first, after subscription and group; None in another."""
    inner = re.escape(kind).replace("/…/", "/([^/]+)/")
    found = re.fullmatch(f"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/{inner}/([^/]+)", value, re.I)
    return found.groups() if found else None


def faults(path: Key, value: str, kind: str) -> Iterator[Fault]:
    """What is wrong with an id, as a line that shows what one looks like."""
    if parts(value, kind) is None:
        need = f"/subscriptions/…/resourceGroups/…/providers/{kind}/…"
        yield Fault(path, f"{value!r} is not a valid resource id; use {need}")
