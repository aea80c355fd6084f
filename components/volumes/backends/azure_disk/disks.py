"""The resource group of the disks, and the driver's rights in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.clusters.aks import access
from tensorplane.components.clusters.aks.native import short_name
from tensorplane.components.volumes import storage_class_per_volume
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.azure_disk.settings import (
    DRIVER,
    IOPS_WITHOUT_A_FEE,
    V2,
    AzureDiskSettings,
)
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.clouds import azure_data_group

if TYPE_CHECKING:
    from tensorplane.components.clusters.aks.native import Native
    from tensorplane.components.clusters.component import Cluster

_MIB_WITHOUT_A_FEE = 125
_KIND = "azureDisk"
_NAME = 40


def group(cluster: Cluster, volumes: Mapping[str, VolumeSettings]) -> Sequence[pulumi.Resource]:
    """A resource group for the disks. The driver's default is the nodes' group, which is deleted with the cluster."""
    native: Native = cluster.native
    made = azure_data_group.made(native.context, _KIND, protect=azure_data_group.retained(volumes.values()), leave=True)
    who = native.identity.principal_id
    rights = [access.grant(native.context, "disks", access.CONTRIBUTOR, made.id, who)]
    sets = {args.backend.encryption_set for args in volumes.values() if isinstance(args.backend, AzureDiskSettings)}
    rights += [
        access.grant(native.context, f"disk-key-{short_name(key.rsplit('/', 1)[-1], _NAME)}", access.READER, key, who)
        for key in sorted(filter(None, sets))
    ]
    return [made, *rights]


def claim(args: AzureDiskSettings, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
    """The class of one disk and its claim, in the disks' own group."""
    native: Native = request.cluster.native
    region = native.context.args.region
    zones = request.args.placement.zones if request.args.placement else ()
    parameters: dict[str, str] = {"skuName": args.sku}
    if args.sku == V2:
        parameters["DiskIOPSReadWrite"] = str(args.iops or IOPS_WITHOUT_A_FEE)
        parameters["DiskMBpsReadWrite"] = str(args.throughput_mib or _MIB_WITHOUT_A_FEE)
        parameters["cachingMode"] = "None"  # the only supported mode
    if args.encryption_set:
        parameters["diskEncryptionSetID"] = args.encryption_set
    return storage_class_per_volume.claim(
        request,
        opts,
        provisioner=DRIVER,
        parameters=parameters,
        zone_key="topology.disk.csi.azure.com/zone",
        zones=[f"{region}-{zone}" for zone in zones],
        known_later={"resourceGroup": azure_data_group.among(request.installed).name},
    )
