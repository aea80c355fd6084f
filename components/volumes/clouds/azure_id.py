"""Azure resource ids in settings."""

import re
from collections.abc import Iterator

from tensorplane.components.base.model import In
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.base.produced import known

DISK_ENCRYPTION_SET = "Microsoft.Compute/diskEncryptionSets"
DNS_ZONE = "Microsoft.Network/privateDnsZones"
IDENTITY = "Microsoft.ManagedIdentity/userAssignedIdentities"
VAULT = "Microsoft.KeyVault/vaults"
SUBNET = "Microsoft.Network/virtualNetworks/…/subnets"
CONTAINER = "Microsoft.Storage/storageAccounts/…/blobServices/default/containers"
NETAPP_SNAPSHOT = "Microsoft.NetApp/netAppAccounts/…/capacityPools/…/volumes/…/snapshots"


def parts(value: str, kind: str) -> tuple[str, ...] | None:
    """Names in the id of a resource of this type, after subscription and group; None if it is another type."""
    inner = re.escape(kind).replace("/…/", "/([^/]+)/")
    found = re.fullmatch(f"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/{inner}/([^/]+)", value, re.I)
    return found.groups() if found else None


def find_problems(path: Key, given: In[str], kind: str) -> Iterator[Problem]:
    """Problem of an id that is invalid or of another type."""
    value = known(given)
    if value is not None and parts(value, kind) is None:
        form = f"/subscriptions/…/resourceGroups/…/providers/{kind}/…"
        yield Problem(path, f"{value!r} is not a valid resource id; use {form}")
