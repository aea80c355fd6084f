"""Where the driver puts disks, and what it may do there."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pulumi

from components.aks import data_group, identity, roles
from components.aks.short_name import short
from components.cluster import Cluster

if TYPE_CHECKING:
    from components.aks.whole import Native
    from components.volume import VolumeArgs

_KIND = "azureDisk"
_NAME = 40


def group(cluster: Cluster, volumes: Mapping[str, "VolumeArgs"]) -> Sequence[pulumi.Resource]:
    """A group of the disks' own. By default, the driver puts them beside the nodes, where they go with the cluster."""
    from components.volume.backends.azure_disk import AzureDisk

    native: Native = cluster.native
    made = data_group.made(native.context, _KIND, protect=data_group.retained(volumes.values()), leave=True)
    who = native.identity.principal_id
    rights = [identity.grant(native.context, "disks", roles.CONTRIBUTOR, made.id, who)]
    sets = {args.backend.encryption_set for args in volumes.values() if isinstance(args.backend, AzureDisk)}
    rights += [
        identity.grant(native.context, f"disk-key-{short(key.rsplit('/', 1)[-1], _NAME)}", roles.READER, key, who)
        for key in sorted(filter(None, sets))
    ]
    return [made, *rights]
