"""Shared resources of Azure NetApp Files: the account, a capacity pool for each service level, the subnet."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import pulumi
from pulumi_azure_native import netapp

from tensorplane.components.base.produced import as_input
from tensorplane.components.base.quantities import GIB_PER_TIB, TIB
from tensorplane.components.clusters.aks import network
from tensorplane.components.clusters.aks.addresses import DEFAULT_CIDR, netapp_subnet
from tensorplane.components.clusters.aks.context import tags
from tensorplane.components.clusters.aks.native import Native
from tensorplane.components.volumes.backends.netapp_files.settings import NetappFilesSettings
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.clouds import azure_data_group

_KIND = "netappFiles"
_NAME = "netapp"
DELEGATED_TO = "Microsoft.NetApp/volumes"


def shared(native: Native, volumes: Mapping[str, VolumeSettings]) -> Sequence[pulumi.Resource]:
    """Creates them, before the first volume."""
    context = native.context
    keep = azure_data_group.retained(volumes.values())
    retained = pulumi.ResourceOptions.merge(context.opts, pulumi.ResourceOptions(protect=keep, retain_on_delete=keep))
    group = azure_data_group.made(context, _KIND, protect=keep, leave=keep)
    account = netapp.Account(
        f"{context.name}-netapp",
        account_name=context.args.cluster_name,
        resource_group_name=group.name,
        location=context.args.region,
        tags=tags(context.args),
        opts=retained,
    )
    pools = []
    for level, size in sorted(_sizes(volumes).items()):
        # A pool is retained if one of its own volumes is.
        keeps = azure_data_group.retained(args for args in volumes.values() if _level(args) == level)
        opts = pulumi.ResourceOptions.merge(context.opts, pulumi.ResourceOptions(protect=keeps, retain_on_delete=keeps))
        name = f"{context.name}-netapp-{level}"
        pools.append(
            pool(name, native, account, group.name, level=level, tib=size, region=context.args.region, opts=opts)
        )
    return [group, account, *pools, *_subnet(native, volumes)]


def pool(
    name: str,
    native: Native,
    account: netapp.Account,
    group: pulumi.Output[str],
    *,
    level: str,
    tib: int,
    region: str,
    opts: pulumi.ResourceOptions,
) -> netapp.CapacityPool:
    """One capacity pool, named by its service level."""
    return netapp.CapacityPool(
        name,
        pool_name=level,
        account_name=account.name,
        resource_group_name=group,
        location=region,
        service_level=level.capitalize(),
        # The throughput of a volume follows from its size.
        qos_type=netapp.QosType.AUTO,
        size=tib * TIB,
        tags=tags(native.context.args),
        opts=opts,
    )


def tib(gib: float) -> int:
    """GiB in TiB, rounded up."""
    return max(1, math.ceil(gib / GIB_PER_TIB))


def subnet(args: NetappFilesSettings, native: Native) -> pulumi.Input[str]:
    """Resource id of the subnet of a volume."""
    if args.subnet:
        return as_input(args.subnet)
    return pulumi.Output.from_input(native.node_network.subnet).apply(
        lambda nodes: f"{nodes.rpartition('/')[0]}/{_NAME}"
    )


def _level(args: VolumeSettings) -> str | None:
    return args.backend.service_level if isinstance(args.backend, NetappFilesSettings) else None


def _sizes(volumes: Mapping[str, VolumeSettings]) -> dict[str, int]:
    """TiB of the pool of each service level: the sum of its volumes, or `poolTib` if that is larger."""
    needed: dict[str, float] = defaultdict(float)
    least: dict[str, int] = defaultdict(lambda: 1)
    for args in volumes.values():
        if isinstance(args.backend, NetappFilesSettings):
            level = args.backend.service_level
            needed[level] += args.size_gib
            least[level] = max(least[level], args.backend.pool_tib or 1)
    return {level: max(least[level], tib(gib)) for level, gib in needed.items()}


def _subnet(native: Native, volumes: Mapping[str, VolumeSettings]) -> list[pulumi.Resource]:
    """A delegated subnet in a new VNet."""
    context, vnet = native.context, native.node_network.vnet
    inside = [
        args for args in volumes.values() if isinstance(args.backend, NetappFilesSettings) and not args.backend.subnet
    ]
    if vnet is None or not inside:
        return []
    cidr = netapp_subnet(context.args.network.cidr or DEFAULT_CIDR)
    keep = azure_data_group.retained(inside)
    return [network.storage_subnet(context, vnet, _NAME, cidr, delegated_to=DELEGATED_TO, keep=keep)]
