"""A volume of Azure NetApp Files: its source, export policy, snapshot policy, and claim."""

import dataclasses
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
from pulumi_azure_native import netapp

from tensorplane.components.base.cidr import inner_network
from tensorplane.components.base.produced import as_input
from tensorplane.components.base.quantities import GIB
from tensorplane.components.clusters.aks.addresses import DEFAULT_CIDR, nodes_subnet
from tensorplane.components.clusters.aks.context import tags
from tensorplane.components.clusters.aks.native import Native, short_name
from tensorplane.components.volumes import static
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.netapp_files import netapp_mirror, netapp_pool
from tensorplane.components.volumes.backends.netapp_files.settings import NetappFilesSettings
from tensorplane.components.volumes.clouds import azure_data_group
from tensorplane.components.volumes.snapshots import netapp_policy

_NAME = 64
_FIXED = ("protocolTypes", "serviceLevel", "subnetId", "zones")


def claim(
    args: NetappFilesSettings, request: Request, opts: pulumi.ResourceOptions
) -> k8s.core.v1.PersistentVolumeClaim:
    """The volume and a claim that is bound to it."""
    native: Native = request.cluster.native
    group = azure_data_group.among(request.installed)
    retained = pulumi.ResourceOptions(
        parent=opts.parent, provider=native.provider, protect=opts.protect, retain_on_delete=opts.retain_on_delete
    )
    volume = _volume(args, request, native, group.name, retained)
    mirror = request.args.mirror
    if mirror and mirror.to.region:
        netapp_mirror.mirror(args, request, native, volume, retained)
    spec: k8s.core.v1.PersistentVolumeSpecArgsDict = {
        "nfs": {
            "server": volume.mount_targets.apply(lambda targets: targets[0].ip_address),
            "path": pulumi.Output.concat("/", volume.creation_token),
        },
        "mount_options": [f"nfsvers={args.version}", "hard", "rsize=262144", "wsize=262144"],
    }
    # Azure restores it; the claim has no data source.
    return static.claim(dataclasses.replace(request, source=None), opts, spec)


def name_of(request: Request, volume: str | None = None) -> str:
    """Name of a volume in Azure; this one's by default."""
    return short_name(f"{request.namespace.plain_name}-{volume or request.name}", _NAME)


def export_policy(version: str, clients: pulumi.Input[str]) -> netapp.VolumePropertiesExportPolicyArgsDict:
    """The export policy: these clients, with commas between them, without root access."""
    return {
        "rules": [
            {
                "rule_index": 1,
                "allowed_clients": clients,
                "nfsv3": version == "3",
                "nfsv41": version == "4.1",
                "cifs": False,
                "unix_read_write": True,
                "unix_read_only": False,
                "has_root_access": False,
            }
        ]
    }


def clients(args: NetappFilesSettings, native: Native) -> pulumi.Output[str]:
    """The nodes' addresses, and those of the settings, with commas between them."""
    own = native.context.args.network
    nodes = [] if own.subnet else [nodes_subnet(own.cidr or DEFAULT_CIDR)]
    return pulumi.Output.all(*map(as_input, args.allowed_cidrs)).apply(
        lambda allowed: ",".join([*nodes, *(cidr for cidr in map(_checked, allowed) if cidr not in nodes)])
    )


def _checked(cidr: str) -> str:
    """The addresses. Those that another resource produces are checked here, where they are known."""
    if isinstance(problem := inner_network(cidr), str):
        raise pulumi.RunError(f"allowedCidrs: {problem}")
    return cidr


def _volume(
    args: NetappFilesSettings,
    request: Request,
    native: Native,
    group: pulumi.Output[str],
    retained: pulumi.ResourceOptions,
) -> netapp.CapacityPoolVolume:
    name = name_of(request)
    placement = request.args.placement
    fixed = pulumi.ResourceOptions(
        depends_on=list(request.installed),
        replace_on_changes=list(_FIXED),
        ignore_changes=["snapshotId"],  # applies only at creation
    )
    return netapp.CapacityPoolVolume(
        f"{request.namespace.plain_name}-{request.name}",
        volume_name=name,
        creation_token=name,
        account_name=native.context.args.cluster_name,
        pool_name=args.service_level,
        resource_group_name=group,
        location=native.context.args.region,
        zones=list(placement.zones) if placement else None,
        service_level=args.service_level.capitalize(),
        subnet_id=netapp_pool.subnet(args, native),
        network_features=netapp.NetworkFeatures.STANDARD,  # required by pools below 4 TiB
        protocol_types=[f"NFSv{args.version}"],
        security_style=netapp.SecurityStyle.UNIX,
        # The root directory belongs to root, and pods write as their own user.
        unix_permissions="0777",
        snapshot_directory_visible=True,
        usage_threshold=round(request.args.size_gib * GIB),
        export_policy=export_policy(args.version, clients(args, native)),
        data_protection=_snapshots(request, native, group, retained),
        snapshot_id=_origin(request, args, native, group, retained),
        tags=tags(native.context.args),
        opts=pulumi.ResourceOptions.merge(retained, fixed),
    )


def _snapshots(
    request: Request, native: Native, group: pulumi.Output[str], retained: pulumi.ResourceOptions
) -> netapp.VolumePropertiesDataProtectionArgsDict | None:
    """The schedule as a snapshot policy of this volume."""
    settings = request.args.snapshots
    found = netapp_policy.schedule(settings.schedule) if settings else None
    if settings is None or found is None:
        return None
    times: dict[str, Any] = {**found.times, "snapshots_to_keep": netapp_policy.snapshot_count(settings)}
    rhythm: dict[str, Any] = {f"{found.rhythm}_schedule": times}
    policy = netapp.SnapshotPolicy(
        f"{request.namespace.plain_name}-{request.name}",
        snapshot_policy_name=name_of(request),
        account_name=native.context.args.cluster_name,
        resource_group_name=group,
        location=native.context.args.region,
        enabled=True,
        tags=tags(native.context.args),
        opts=pulumi.ResourceOptions.merge(retained, pulumi.ResourceOptions(depends_on=list(request.installed))),
        **rhythm,
    )
    return {"snapshot": {"snapshot_policy_id": policy.id}}


def _origin(
    request: Request,
    args: NetappFilesSettings,
    native: Native,
    group: pulumi.Output[str],
    retained: pulumi.ResourceOptions,
) -> pulumi.Input[str] | None:
    """Resource id of the snapshot that it is restored from. A clone is restored from a snapshot taken for it."""
    source = request.args.source
    if source is None or source.volume is None or request.source is None:
        return source.snapshot if source else None
    origin = name_of(request, source.volume)
    taken = netapp.CapacityPoolSnapshot(
        f"{request.namespace.plain_name}-{request.name}-origin",
        snapshot_name=short_name(f"for-{request.name}", _NAME),
        # Waits for the origin, whose claim depends on it.
        volume_name=pulumi.Output.from_input(request.source["name"]).apply(lambda _: origin),
        pool_name=args.service_level,
        account_name=native.context.args.cluster_name,
        resource_group_name=group,
        location=native.context.args.region,
        opts=retained,
    )
    return taken.id
