"""A volume of Azure Files: its storage account, private endpoint, and StorageClass."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s
from pulumi_azure_native import network, privatedns, storage

from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.aks import access
from tensorplane.components.clusters.aks.context import tags
from tensorplane.components.clusters.aks.native import Native, alphanumeric
from tensorplane.components.volumes import storage_class_per_volume
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.azure_files.settings import DRIVER, AzureFilesSettings
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.clouds import azure_data_group

_KIND = "azureFiles"
_ZONE = "privatelink.file.core.windows.net"
_UNDELETABLE_DAYS = 14
_NAME = 16
"""Characters of a name: a storage account may have 24, and Pulumi adds a suffix of 8."""


def shared(native: Native, volumes: Mapping[str, VolumeSettings]) -> Sequence[pulumi.Resource]:
    """The resource group of the accounts, the driver's rights in it, and their private DNS zone."""
    context, who = native.context, native.identity.principal_id
    group = azure_data_group.made(context, _KIND, protect=azure_data_group.retained(volumes.values()), leave=True)
    rights = [
        access.grant(context, f"files-{use}", role, group.id, who)
        for use, role in (
            ("shares", access.STORAGE_ACCOUNT_CONTRIBUTOR),
            ("restore", access.STORAGE_FILE_DATA_PRIVILEGED_CONTRIBUTOR),
        )
    ]
    own = [args.backend for args in volumes.values() if isinstance(args.backend, AzureFilesSettings)]
    if all(backend.private_dns_zone for backend in own):
        return [group, *rights]
    zone = privatedns.PrivateZone(
        f"{context.name}-files",
        private_zone_name=_ZONE,
        resource_group_name=group.name,
        location="global",
        tags=tags(context.args),
        opts=context.opts,
    )
    link = privatedns.VirtualNetworkLink(
        f"{context.name}-files",
        private_zone_name=zone.name,
        resource_group_name=group.name,
        location="global",
        registration_enabled=False,
        virtual_network={"id": pulumi.Output.from_input(native.node_network.subnet).apply(_network_of)},
        tags=tags(context.args),
        opts=context.opts,
    )
    return [group, *rights, zone, link]


def claim(
    args: AzureFilesSettings, request: Request, opts: pulumi.ResourceOptions
) -> k8s.core.v1.PersistentVolumeClaim:
    """The account, its endpoint in the nodes' subnet, and a claim whose share the driver creates there."""
    native: Native = request.cluster.native
    name = f"{request.namespace.plain_name}-{request.name}"
    # An account is free, and has the snapshots, which outlive the share.
    retained = pulumi.ResourceOptions(
        parent=opts.parent, provider=native.provider, protect=opts.protect, retain_on_delete=True
    )
    group = azure_data_group.among(request.installed)
    account = _account(args, native, alphanumeric(request.name, name, _NAME), group.name, retained)
    storage.FileServiceProperties(
        name,
        account_name=account.name,
        resource_group_name=group.name,
        file_services_name="default",
        # A share is deleted with its snapshots; for this time, both can be restored.
        share_delete_retention_policy={"enabled": True, "days": _UNDELETABLE_DAYS},
        opts=retained,
    )
    way = _endpoint(args, native, name, account, request, opts.parent)
    parameters = {"protocol": "nfs", "skuName": args.sku}
    # Use the endpoint. Otherwise, the driver adds service endpoints to the subnets and opens the account to them.
    parameters["networkEndpointType"] = "privateEndpoint"
    if args.encrypted_in_transit:
        parameters["encryptInTransit"] = "true"
    if args.iops:
        parameters["provisionedIOPS"] = str(args.iops)
    if args.throughput_mib:
        parameters["provisionedBandwidth"] = str(args.throughput_mib)
    if request.args.source:
        # Restoring copies files, and only this API passes the account's firewall.
        parameters["useDataPlaneAPI"] = "oauth"
    return storage_class_per_volume.claim(
        request,
        opts,
        provisioner=DRIVER,
        parameters=parameters,
        mount_options=["noresvport"],
        known_later={"resourceGroup": group.name, "storageAccount": account.name},
        depends_on=way,
    )


def _account(
    args: AzureFilesSettings, native: Native, name: str, group: pulumi.Output[str], retained: pulumi.ResourceOptions
) -> storage.StorageAccount:
    """An account that is reachable only through its endpoint and by the driver's identity, without account keys."""
    encryption: storage.EncryptionArgsDict | None = None
    who: storage.IdentityArgsDict | None = None
    if args.key:
        who = {"type": storage.IdentityType.USER_ASSIGNED, "user_assigned_identities": [as_input(args.key.identity)]}
        encryption = {
            "key_source": "Microsoft.Keyvault",
            "key_vault_properties": {"key_vault_uri": as_input(args.key.vault), "key_name": as_input(args.key.name)},
            "encryption_identity": {"encryption_user_assigned_identity": as_input(args.key.identity)},
        }
    # Names are globally unique; Pulumi adds a suffix of 8 characters.
    return storage.StorageAccount(
        name,
        resource_group_name=group,
        location=native.context.args.region,
        kind=storage.Kind.FILE_STORAGE,
        sku={"name": args.sku},
        # Also refuses NFS without TLS.
        enable_https_traffic_only=args.encrypted_in_transit,
        minimum_tls_version=storage.MinimumTlsVersion.TLS1_2,
        allow_blob_public_access=False,
        allow_shared_key_access=False,
        public_network_access=storage.PublicNetworkAccess.DISABLED,
        # The driver restores snapshots as a trusted Azure service, from outside the network.
        network_rule_set={"default_action": storage.DefaultAction.DENY, "bypass": storage.Bypass.AZURE_SERVICES},
        encryption=encryption,
        identity=who,
        tags=tags(native.context.args),
        opts=retained,
    )


def _endpoint(
    args: AzureFilesSettings,
    native: Native,
    name: str,
    account: storage.StorageAccount,
    request: Request,
    parent: pulumi.Resource | None,
) -> list[pulumi.Resource]:
    """The account's private endpoint in the nodes' subnet, and its DNS record."""
    group = azure_data_group.among(request.installed)
    unprotected = pulumi.ResourceOptions(parent=parent, provider=native.provider)
    endpoint = network.PrivateEndpoint(
        name,
        resource_group_name=group.name,
        location=native.context.args.region,
        subnet={"id": native.node_network.subnet},
        private_link_service_connections=[
            {"name": "files", "private_link_service_id": account.id, "group_ids": ["file"]}
        ],
        tags=tags(native.context.args),
        opts=unprotected,
    )
    new_zone = pulumi.Output.concat(group.id, "/providers/Microsoft.Network/privateDnsZones/", _ZONE)
    zone = as_input(args.private_dns_zone) if args.private_dns_zone else new_zone
    zone_group = network.PrivateDnsZoneGroup(
        name,
        private_dns_zone_group_name="default",
        private_endpoint_name=endpoint.name,
        resource_group_name=group.name,
        private_dns_zone_configs=[{"name": "files", "private_dns_zone_id": zone}],
        opts=pulumi.ResourceOptions.merge(unprotected, pulumi.ResourceOptions(depends_on=list(request.installed))),
    )
    return [endpoint, zone_group]


def _network_of(subnet: str) -> str:
    """Resource id of a subnet's VNet."""
    return subnet.rpartition("/subnets/")[0]
