"""The replica of a NetApp Files volume in another region, and the approval of its replication."""

from collections.abc import Mapping

import pulumi
from pulumi_azure_native import managedidentity, netapp, resources

from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.aks import access
from tensorplane.components.clusters.aks.context import tags
from tensorplane.components.clusters.aks.native import Native, short_name
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.netapp_files import netapp_pool
from tensorplane.components.volumes.backends.netapp_files.settings import NetappFilesSettings
from tensorplane.components.volumes.clouds import azure_data_group

_NAME = 60
_SCHEDULES = {600: "_10minutely", 3600: "hourly", 86400: "daily"}
_HOUR = 3600
_CLI = "2.63.0"
# Approval of the replication on the source: an action without an Azure resource. A second approval may be refused; then
# the replication has a status.
_APPROVE = """
az netappfiles volume replication approve --resource-group "$GROUP" --account-name "$ACCOUNT" --pool-name "$POOL" \\
  --name "$VOLUME" --remote-volume-resource-id "$COPY" ||
az netappfiles volume replication status --resource-group "$COPY_GROUP" --account-name "$COPY_ACCOUNT" \\
  --pool-name "$POOL" --name "$VOLUME"
"""


def mirror(
    args: NetappFilesSettings,
    request: Request,
    native: Native,
    source: netapp.CapacityPoolVolume,
    retained: pulumi.ResourceOptions,
) -> None:
    """Account, pool and volume in the other region, in a resource group of that region."""
    settings = request.args.mirror
    if settings is None or settings.to.region is None:
        return
    context, region = native.context, settings.to.region
    name = f"{request.namespace.plain_name}-{request.name}-mirror"
    # Not protected, so that `mirror` can be removed; the copy is kept.
    stays = pulumi.ResourceOptions(
        parent=retained.parent, provider=retained.provider, retain_on_delete=retained.retain_on_delete
    )
    group = azure_data_group.made(context, f"netapp-{name}", protect=False, leave=request.args.retain, region=region)
    account = netapp.Account(
        name,
        account_name=short_name(name, _NAME),
        resource_group_name=group.name,
        location=region,
        tags=tags(context.args),
        opts=stays,
    )
    size = netapp_pool.tib(request.args.size_gib)
    pool = netapp_pool.pool(
        name, native, account, group.name, level=args.service_level, tib=size, region=region, opts=stays
    )
    copy = _copy(args, request, native, source, pool=pool, account=account, group=group, retained=stays)
    environment: dict[str, pulumi.Input[str]] = {
        "GROUP": azure_data_group.among(request.installed).name,
        "ACCOUNT": context.args.cluster_name,
        "POOL": args.service_level,
        "VOLUME": source.creation_token,
        "COPY": copy.id,
        "COPY_GROUP": group.name,
        "COPY_ACCOUNT": account.name,
    }
    _approve(name, native, {"source": source, "copy": copy}, environment, retained)


def _copy(
    args: NetappFilesSettings,
    request: Request,
    native: Native,
    source: netapp.CapacityPoolVolume,
    *,
    pool: netapp.CapacityPool,
    account: netapp.Account,
    group: resources.ResourceGroup,
    retained: pulumi.ResourceOptions,
) -> netapp.CapacityPoolVolume:
    settings = request.args.mirror
    every = settings.every_seconds if settings else None
    return netapp.CapacityPoolVolume(
        f"{request.namespace.plain_name}-{request.name}-mirror",
        volume_name=source.creation_token,
        creation_token=source.creation_token,
        account_name=account.name,
        pool_name=args.service_level,
        resource_group_name=group.name,
        location=group.location,
        service_level=args.service_level.capitalize(),
        subnet_id=as_input(args.mirror_subnet) if args.mirror_subnet else None,
        network_features=netapp.NetworkFeatures.STANDARD,
        protocol_types=[f"NFSv{args.version}"],
        usage_threshold=source.usage_threshold,
        volume_type="DataProtection",
        data_protection={
            "replication": {
                "endpoint_type": netapp.EndpointType.DST,
                "remote_volume_resource_id": source.id,
                "remote_volume_region": native.context.args.region,
                "replication_schedule": _SCHEDULES[every or _HOUR],
            }
        },
        tags=tags(native.context.args),
        opts=pulumi.ResourceOptions.merge(retained, pulumi.ResourceOptions(depends_on=[pool])),
    )


def _approve(
    name: str,
    native: Native,
    volumes: Mapping[str, netapp.CapacityPoolVolume],
    environment: Mapping[str, pulumi.Input[str]],
    retained: pulumi.ResourceOptions,
) -> None:
    """Approves the replication with a deployment script that runs once in Azure, with an identity that may do so."""
    context = native.context
    unprotected = pulumi.ResourceOptions(parent=retained.parent, provider=native.provider)
    who = managedidentity.UserAssignedIdentity(name, opts=unprotected, **context.common)
    rights = [
        access.grant(context, f"{name}-{use}", access.CONTRIBUTOR, volume.id, who.principal_id)
        for use, volume in volumes.items()
    ]
    resources.AzureCliScript(
        name,
        kind="AzureCLI",
        az_cli_version=_CLI,
        script_content=_APPROVE.strip(),
        environment_variables=[{"name": key, "value": value} for key, value in environment.items()],
        identity={"type": resources.ManagedServiceIdentityType.USER_ASSIGNED, "user_assigned_identities": [who.id]},
        timeout="PT15M",
        retention_interval="PT1H",
        cleanup_preference=resources.CleanupOptions.ON_SUCCESS,
        opts=pulumi.ResourceOptions.merge(unprotected, pulumi.ResourceOptions(depends_on=rights)),
        **context.common,
    )
