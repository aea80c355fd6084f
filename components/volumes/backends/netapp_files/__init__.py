"""Volumes on AKS that are shared: Azure NetApp Files, with its own snapshots and replication."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from tensorplane.components.base.cidr import inner_network
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.produced import known
from tensorplane.components.base.quantities import GIB_PER_TIB
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import zones
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.netapp_files.settings import NetappFilesSettings
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.clouds import azure_id, copy_name
from tensorplane.components.volumes.snapshots import netapp_policy

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster
    from tensorplane.components.namespace.component import Namespace

_EVERY = {600: "10m", 3600: "1h", 86400: "1d"}


class NetappFiles(NetappFilesSettings):
    """An NFS volume of Azure NetApp Files, in a delegated subnet. All volumes of one service level share a capacity
    pool of whole TiB, which is what Azure bills."""

    kind: Literal["netappFiles"] = "netappFiles"

    def makes(self, name: str, args: VolumeSettings) -> Iterator[tuple[str, str]]:
        yield from copy_name.both("NetApp volume", name, args)

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        yield from zones.find_problems(args, cluster, at_most=1)
        yield from self._network(cluster)
        if args.snapshots:
            yield from netapp_policy.find_problems(args.snapshots)
        if args.source and args.source.snapshot:
            yield from self._origin(args.source.snapshot, cluster)
        yield from self._mirror(args, cluster)

    @classmethod
    def check_together(cls, volumes: Mapping[str, VolumeSettings], cluster: ClusterArgs) -> Iterator[Problem]:
        own = {name: args.backend for name, args in volumes.items() if isinstance(args.backend, NetappFiles)}
        for level in sorted({backend.service_level for backend in own.values()}):
            sharing = {name: backend for name, backend in own.items() if backend.service_level == level}
            needed = math.ceil(sum(volumes[name].size_gib for name in sharing) / GIB_PER_TIB)
            yield from _pool(level, sharing, needed)

    def _origin(self, snapshot: str, cluster: ClusterArgs) -> Iterator[Problem]:
        """A volume can only be restored from a snapshot in its own pool."""
        path, parts = ("from", "snapshot"), azure_id.parts(snapshot, azure_id.NETAPP_SNAPSHOT)
        yield from azure_id.find_problems(path, snapshot, azure_id.NETAPP_SNAPSHOT)
        if parts and parts[:2] != (cluster.cluster_name, self.service_level):
            reason = (
                f"the snapshot is in pool {parts[1]} of account {parts[0]}, but a volume restores from its own pool"
            )
            remedy = f"use a snapshot in pool {self.service_level} of account {cluster.cluster_name}"
            yield Problem(path, f"{reason}; {remedy}", given=(("backend", "serviceLevel"),))

    def _network(self, cluster: ClusterArgs) -> Iterator[Problem]:
        own = cluster.existing_network
        if self.subnet:
            yield from azure_id.find_problems(("backend", "subnet"), self.subnet, azure_id.SUBNET)
        elif own:
            reason = (
                "missing, but the nodes use an existing subnet; set one that is delegated to Microsoft.NetApp/volumes"
            )
            yield Problem(("backend", "subnet"), reason)
        if own and not self.allowed_cidrs:
            reason = "missing, but the nodes use an existing subnet; set its addresses, such as 10.1.0.0/18"
            yield Problem(("backend", "allowedCidrs"), reason)
        for index, given in enumerate(self.allowed_cidrs):
            cidr = known(given)
            if cidr is not None and isinstance(found := inner_network(cidr), str):
                yield Problem(("backend", "allowedCidrs", str(index)), found)

    def _mirror(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        mirror = args.mirror
        if mirror is None or mirror.to.region is None:
            if self.mirror_subnet:
                reason = "is set, but the volume has no mirror in another region; remove it"
                yield Problem(("backend", "mirrorSubnet"), reason, given=(("mirror",),))
            return
        if mirror.to.region == cluster.catalog_region:
            reason = f"{cluster.catalog_region} is the region of the volume itself; choose another region"
            yield Problem(("mirror", "to", "region"), reason)
        if mirror.every_seconds and mirror.every_seconds not in _EVERY:
            nearest = _EVERY[min(_EVERY, key=lambda step: abs(step - (mirror.every_seconds or 0)))]
            reason = f"invalid interval {mirror.every} for NetApp Files; use 10m, 1h or 1d (nearest: {nearest})"
            yield Problem(("mirror", "every"), reason)
        if self.mirror_subnet:
            yield from azure_id.find_problems(("backend", "mirrorSubnet"), self.mirror_subnet, azure_id.SUBNET)
        else:
            reason = (
                "missing, but the mirror requires it; set a subnet there that is delegated to Microsoft.NetApp/volumes"
            )
            yield Problem(("backend", "mirrorSubnet"), reason, given=(("mirror",),))

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, VolumeSettings]
    ) -> Sequence[pulumi.Resource]:
        # Imported here, because the SDK of Azure is only needed on its own clusters.
        from tensorplane.components.volumes.backends.netapp_files import netapp_pool

        return netapp_pool.shared(cluster.native, volumes)

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        from tensorplane.components.volumes.backends.netapp_files import netapp_volume

        return netapp_volume.claim(self, request, opts)


def _pool(level: str, sharing: Mapping[str, NetappFiles], needed: int) -> Iterator[Problem]:
    """Azure refuses a pool that is smaller than its volumes, and Pulumi updates a pool before it deletes a volume. So
    several volumes require an explicit pool size."""
    sizes = [backend.pool_tib for backend in sharing.values() if backend.pool_tib]
    least = max([needed, *sizes])
    several = len(sharing) > 1
    pool = f"{len(sharing)} volumes share pool {level}" if several else f"the volume takes {needed} TiB"
    for name, backend in sharing.items():
        at = (name, "backend", "poolTib")
        if backend.pool_tib is None and several:
            yield Problem(at, f"missing, but {pool}; set {least} in each")
        elif backend.pool_tib and backend.pool_tib < least:
            yield Problem(at, f"is {backend.pool_tib}, but {pool}; set {f'{least} in each' if several else least}")
