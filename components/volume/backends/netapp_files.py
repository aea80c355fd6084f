"""Volumes on AKS that all nodes share: Azure NetApp Files, with snapshots and a copy elsewhere of the service's own."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s
from pydantic import Field

from components.cidr import inner_network
from components.cluster import Cluster, ClusterArgs
from components.cluster.aks import Aks
from components.faults import Fault
from components.model import Filled
from components.namespace import Namespace
from components.volume import zones
from components.volume.backend import Backend, Request
from components.volume.capabilities import AccessMode, Capabilities
from components.volume.clouds import azure_id, copy_name, netapp_schedule

if TYPE_CHECKING:
    from components.volume import VolumeArgs

_GIB_OF_A_TIB = 1024
_EVERY = {600: "10m", 3600: "1h", 86400: "1d"}


class NetappFiles(Backend):
    """An NFS volume of Azure NetApp Files, in a subnet of its own beside the nodes'. All volumes of one service level
    share a capacity pool, as large as they need, in whole TiB: that is what costs money."""

    kind: Literal["netappFiles"] = "netappFiles"

    service_level: Literal["standard", "premium", "ultra"] = "premium"
    """16, 64 or 128 MiB per second for each TiB. A change replaces the volume."""
    version: Literal["3", "4.1"] = "4.1"
    """Version of NFS. A change replaces the volume."""
    pool_tib: Annotated[int, Field(ge=1, le=2048)] | None = None
    """Size in TiB of the pool that all volumes of this service level share. Needed, and the same in each, where they
    are several: what the pool loses with one of them goes in a deployment of its own, once the volume has gone."""
    subnet: Filled | None = None
    """Resource id of a subnet that is delegated to Microsoft.NetApp/volumes, where the nodes are in a subnet of yours.
    A network has one such subnet; one is made in a new VNet."""
    allowed_cidrs: Annotated[tuple[Filled, ...], Field(max_length=5)] = ()
    """Addresses that may mount it: the nodes', needed where they are in a subnet of yours, and those of machines
    outside the cluster. Those of the nodes in a new VNet are always among them."""
    mirror_subnet: Filled | None = None
    """Resource id of a subnet in the mirror's region that is delegated to Microsoft.NetApp/volumes."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"aks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot="snapshot policy",
        clone="snapshot",
        mirror={"region": "cross-region replication"},
        expand=True,
        placement="one zone",
        reach="region",
        encryption="always",
        quota="the volume",
        outside="NFS, from `allowedCidrs` in the VNet or what is linked with it",
        min_gib=50,
        max_gib=102400,
        consistency="as after a power failure",
        throughput="`serviceLevel` and size",
    )

    @property
    def same_in_copies(self) -> tuple[object, ...]:
        return self.kind, self.service_level, self.version, self.subnet

    def makes(self, name: str, args: "VolumeArgs") -> Iterator[tuple[str, str]]:
        yield from copy_name.both("NetApp volume", name, args)

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        yield from zones.faults(args, cluster, at_most=1)
        yield from self._network(cluster)
        if args.snapshots:
            yield from netapp_schedule.faults(args.snapshots)
        if args.source and args.source.snapshot:
            yield from self._origin(args.source.snapshot, cluster)
        yield from self._mirror(args, cluster)

    @classmethod
    def check_together(cls, volumes: Mapping[str, "VolumeArgs"], cluster: ClusterArgs) -> Iterator[Fault]:
        own = {name: args.backend for name, args in volumes.items() if isinstance(args.backend, NetappFiles)}
        for level in sorted({backend.service_level for backend in own.values()}):
            sharing = {name: backend for name, backend in own.items() if backend.service_level == level}
            needed = math.ceil(sum(volumes[name].size_gib for name in sharing) / _GIB_OF_A_TIB)
            yield from _pool(level, sharing, needed)

    def _origin(self, snapshot: str, cluster: ClusterArgs) -> Iterator[Fault]:
        """A volume begins as a snapshot of its own pool alone."""
        path, named = ("from", "snapshot"), azure_id.parts(snapshot, azure_id.NETAPP_SNAPSHOT)
        yield from azure_id.faults(path, snapshot, azure_id.NETAPP_SNAPSHOT)
        if named and isinstance(cluster, Aks) and named[:2] != (cluster.cluster_name, self.service_level):
            reason = f"got one of pool {named[1]} in account {named[0]}, and a volume begins as one of its own pool"
            need = f"need pool {self.service_level} in account {cluster.cluster_name}"
            yield Fault(path, f"{reason}: {need}", given=(("backend", "serviceLevel"),))

    def _network(self, cluster: ClusterArgs) -> Iterator[Fault]:
        own = isinstance(cluster, Aks) and cluster.network.subnet is not None
        if self.subnet:
            yield from azure_id.faults(("backend", "subnet"), self.subnet, azure_id.SUBNET)
        elif own:
            reason = "missing, and the nodes are in a subnet of yours: need one delegated to Microsoft.NetApp/volumes"
            yield Fault(("backend", "subnet"), reason)
        if own and not self.allowed_cidrs:
            reason = "missing, and the nodes are in a subnet of yours: need its addresses, such as 10.1.0.0/18"
            yield Fault(("backend", "allowedCidrs"), reason)
        for index, cidr in enumerate(self.allowed_cidrs):
            if isinstance(found := inner_network(cidr), str):
                yield Fault(("backend", "allowedCidrs", str(index)), found)

    def _mirror(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        mirror = args.mirror
        if mirror is None or mirror.to.region is None:
            if self.mirror_subnet:
                reason = "given, and the volume has no mirror in another region: leave it out"
                yield Fault(("backend", "mirrorSubnet"), reason, given=(("mirror",),))
            return
        if isinstance(cluster, Aks) and mirror.to.region == cluster.region:
            reason = f"got {cluster.region}, where the volume is itself: need another region"
            yield Fault(("mirror", "to", "region"), reason)
        if mirror.every_seconds and mirror.every_seconds not in _EVERY:
            nearest = _EVERY[min(_EVERY, key=lambda step: abs(step - (mirror.every_seconds or 0)))]
            reason = f"got {mirror.every}, NetApp Files copies every 10m, 1h or 1d (nearest: {nearest})"
            yield Fault(("mirror", "every"), reason)
        if self.mirror_subnet:
            yield from azure_id.faults(("backend", "mirrorSubnet"), self.mirror_subnet, azure_id.SUBNET)
        else:
            reason = "missing, and the mirror needs a subnet there that is delegated to Microsoft.NetApp/volumes"
            yield Fault(("backend", "mirrorSubnet"), reason, given=(("mirror",),))

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, "VolumeArgs"]
    ) -> Sequence[pulumi.Resource]:
        # Here, and not above: whoever runs another kind of cluster never imports the SDK of Azure.
        from components.aks import netapp_pool

        return netapp_pool.shared(cluster.native, volumes)

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        from components.aks import netapp_volume

        return netapp_volume.claim(self, request, opts)


def _pool(level: str, sharing: Mapping[str, NetappFiles], needed: int) -> Iterator[Fault]:
    """Azure makes no pool smaller than its volumes, and the engine changes a pool before it deletes one of them. A size
    that does not follow from the volumes stays what it is while one goes."""
    sizes = [backend.pool_tib for backend in sharing.values() if backend.pool_tib]
    least = max([needed, *sizes])
    several = len(sharing) > 1
    pool = f"the pool {level} is that of {len(sharing)} volumes" if several else f"the volume needs {needed}"
    for name, backend in sharing.items():
        at = (name, "backend", "poolTib")
        if backend.pool_tib is None and several:
            yield Fault(at, f"missing, and {pool}: need {least} in each")
        elif backend.pool_tib and backend.pool_tib < least:
            yield Fault(at, f"got {backend.pool_tib}, and {pool}: need {f'{least} in each' if several else least}")
