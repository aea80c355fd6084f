"""An Azure Managed Lustre file system, its blob container, its claim, and the driver."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s
from pulumi_azure_native import storagecache

from tensorplane.components import versions
from tensorplane.components.base.produced import as_input
from tensorplane.components.base.quantities import GIB_PER_TIB
from tensorplane.components.clusters.aks import network
from tensorplane.components.clusters.aks.addresses import DEFAULT_CIDR, lustre_subnet
from tensorplane.components.clusters.aks.context import tags
from tensorplane.components.clusters.aks.native import Native, short_name
from tensorplane.components.clusters.component import Cluster
from tensorplane.components.controllers.component import Controller
from tensorplane.components.volumes import static
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.azure_lustre.settings import AzureLustreSettings
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.clouds import azure_data_group

_KIND = "azureLustre"
_DRIVER = "azurelustre.csi.azure.com"
_SUBNET = "lustre"
_NAME = 80
_FIXED = ("encryptionSettings", "filesystemSubnet", "hsm", "identity", "sku", "storageCapacityTiB", "zones")


def shared(cluster: Cluster, volumes: Mapping[str, VolumeSettings]) -> Sequence[pulumi.Resource]:
    """The group, the subnet in a new VNet, and the driver on every node."""
    native: Native = cluster.native
    context, vnet = native.context, native.node_network.vnet
    keep = azure_data_group.retained(volumes.values())
    made: list[pulumi.Resource] = [azure_data_group.made(context, _KIND, protect=keep, leave=keep)]
    inside = [
        args for args in volumes.values() if isinstance(args.backend, AzureLustreSettings) and not args.backend.subnet
    ]
    if vnet is not None and inside:
        cidr = lustre_subnet(context.args.network.cidr or DEFAULT_CIDR)
        keep = azure_data_group.retained(inside)
        made.append(network.storage_subnet(context, vnet, _SUBNET, cidr, delegated_to=None, keep=keep))
    in_cluster = pulumi.ResourceOptions(parent=context.opts.parent, provider=cluster.provider)
    # Workloads also run on tainted nodes, and every node with a pod must run the driver.
    values = {"node": {"tolerations": [{"operator": "Exists"}]}}
    return [*made, Controller(versions.AZURE_LUSTRE_DRIVER, values, cluster=cluster, opts=in_cluster)]


def claim(
    args: AzureLustreSettings, request: Request, opts: pulumi.ResourceOptions
) -> k8s.core.v1.PersistentVolumeClaim:
    """The file system and a claim that is bound to it."""
    native: Native = request.cluster.native
    group = azure_data_group.among(request.installed)
    name = f"{request.namespace.plain_name}-{request.name}"
    retained = pulumi.ResourceOptions(
        parent=opts.parent, provider=native.provider, protect=opts.protect, retain_on_delete=opts.retain_on_delete
    )
    system = _file_system(args, request, native, group.name, retained)
    if args.blob and args.blob.export:
        storagecache.AutoExportJob(
            name,
            aml_filesystem_name=system.name,
            auto_export_job_name="export",
            resource_group_name=group.name,
            location=native.context.args.region,
            auto_export_prefixes=["/"],
            admin_status=storagecache.AutoExportJobAdminStatus.ENABLE,
            tags=tags(native.context.args),
            opts=pulumi.ResourceOptions(parent=opts.parent, provider=native.provider),
        )
    spec: k8s.core.v1.PersistentVolumeSpecArgsDict = {
        "mount_options": ["noatime", "flock"],
        "csi": {
            "driver": _DRIVER,
            "volume_handle": name,
            "volume_attributes": {"mgs-ip-address": system.client_info.mgs_address},
        },
    }
    return static.claim(request, opts, spec)


def _file_system(
    args: AzureLustreSettings,
    request: Request,
    native: Native,
    group: pulumi.Output[str],
    retained: pulumi.ResourceOptions,
) -> storagecache.AmlFilesystem:
    cluster = native.context.args
    name = f"{request.namespace.plain_name}-{request.name}"
    hsm: storagecache.AmlFilesystemHsmArgsDict | None = None
    if args.blob:
        hsm = {
            "settings": {
                "container": as_input(args.blob.container),
                "logging_container": as_input(args.blob.logging_container),
                "import_prefixes_initial": list(args.blob.import_prefixes),
            }
        }
    encryption: storagecache.AmlFilesystemEncryptionSettingsArgsDict | None = None
    who: storagecache.AmlFilesystemIdentityArgsDict | None = None
    if args.key:
        vault: storagecache.KeyVaultKeyReferenceSourceVaultArgsDict = {"id": as_input(args.key.vault)}
        encryption = {"key_encryption_key": {"key_url": as_input(args.key.url), "source_vault": vault}}
        who = {
            "type": storagecache.AmlFilesystemIdentityType.USER_ASSIGNED,
            "user_assigned_identities": [as_input(args.key.identity)],
        }
    fixed = pulumi.ResourceOptions(depends_on=list(request.installed), replace_on_changes=list(_FIXED))
    return storagecache.AmlFilesystem(
        name,
        aml_filesystem_name=short_name(name, _NAME),
        resource_group_name=group,
        location=cluster.region,
        sku={"name": f"AMLFS-Durable-Premium-{args.mbps_per_tib}"},
        storage_capacity_ti_b=request.args.size_gib / GIB_PER_TIB,
        filesystem_subnet=_subnet(args, native),
        zones=_zone(request, native),
        # Same maintenance window as the cluster.
        maintenance_window={
            "day_of_week": storagecache.MaintenanceDayOfWeekType(cluster.maintenance.day),
            "time_of_day_utc": cluster.maintenance.start,
        },
        hsm=hsm,
        encryption_settings=encryption,
        identity=who,
        tags=tags(cluster),
        opts=pulumi.ResourceOptions.merge(retained, fixed),
    )


def _zone(request: Request, native: Native) -> list[str] | None:
    """The zone of its placement; by default the first zone of the nodes."""
    placement = request.args.placement
    zones = placement.zones if placement else native.context.args.default_zones
    return [zones[0]] if zones else None


def _subnet(args: AzureLustreSettings, native: Native) -> pulumi.Input[str]:
    if args.subnet:
        return as_input(args.subnet)
    return pulumi.Output.from_input(native.node_network.subnet).apply(
        lambda nodes: f"{nodes.rpartition('/')[0]}/{_SUBNET}"
    )
