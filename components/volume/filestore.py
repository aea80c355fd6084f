"""Volumes on GKE that all nodes share: Filestore, an NFS server of Google's for each volume."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s

from components.cluster import ClusterArgs
from components.cluster.gke import Gke
from components.faults import Fault
from components.model import Filled
from components.volume import own_class, zones
from components.volume.backend import Backend, Request
from components.volume.capabilities import CSI, AccessMode, Capabilities

if TYPE_CHECKING:
    from components.volume import VolumeArgs

_DRIVER = "filestore.csi.storage.gke.io"
Tier = Literal["basicHdd", "basicSsd", "zonal", "regional"]
# As the driver spells it, and GiB from which on it is sold.
_TIERS: Mapping[Tier, tuple[str, int]] = {
    "basicHdd": ("standard", 1024),
    "basicSsd": ("premium", 2560),
    "zonal": ("zonal", 1024),
    "regional": ("regional", 1024),
}
_WITH_KEYS = ("zonal", "regional")


class Filestore(Backend):
    """An NFS server that Google runs, in the cluster's network. Every GKE cluster of tensorplane's has the driver."""

    kind: Literal["filestore"] = "filestore"

    tier: Tier = "zonal"
    """How fast and how safe: `zonal` is fast, `regional` survives the loss of a zone as well, the others cost less."""
    network: Filled | None = None
    """The VPC network, by its name; the cluster's own by default. Needed where the cluster is in a network of yours."""
    connection: Literal["directPeering", "privateServiceAccess"] = "directPeering"
    """How it is reached: `privateServiceAccess` in a Shared VPC, or where the network has that already."""
    kms_key: Filled | None = None
    """Cloud KMS key that encrypts it (projects/…/cryptoKeys/…), with tiers zonal and regional; Google's by default."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"gke"})
    # A restored backup is another server, of a TiB or more.
    mirror_copies: ClassVar[bool] = False
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot=CSI,
        expand=True,
        placement="zones",
        reach="region",
        encryption="always; `kmsKey`",
        quota="the server",
        outside="NFS, from the VPC or what is linked with it",
        min_gib=1024,
        max_gib=102400,
        consistency="as after a power failure",
        throughput="tier and size",
    )

    @property
    def csi_driver(self) -> str | None:
        return _DRIVER

    @property
    def snapshot_parameters(self) -> Mapping[str, str]:
        return {"type": "backup"}

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        yield from zones.faults(args, cluster)
        least = _TIERS[self.tier][1]
        if self.capabilities.min_gib <= args.size_gib < least:
            reason = f"got {args.size_gib:g}, Filestore has at least {least:,} GiB in tier {self.tier}"
            yield Fault(("sizeGib",), reason, given=(("backend", "tier"),))
        if isinstance(cluster, Gke) and cluster.network.existing and self.network is None:
            reason = "missing, and the cluster is in a network of yours: the VPC network that Filestore may be in"
            yield Fault(("backend", "network"), reason)
        if self.kms_key and self.tier not in _WITH_KEYS:
            reason = f"given, and tier {self.tier} takes none: need tier {' or '.join(_WITH_KEYS)}"
            yield Fault(("backend", "kmsKey"), reason, given=(("backend", "tier"),))

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        cluster = request.cluster.args
        parameters = {"tier": _TIERS[self.tier][0]}
        if network := self.network or (cluster.cluster_name if isinstance(cluster, Gke) else None):
            parameters["network"] = network
        if self.connection == "privateServiceAccess":
            parameters["connect-mode"] = "PRIVATE_SERVICE_ACCESS"
        if self.kms_key:
            parameters["instance-encryption-kms-key"] = self.kms_key
        return own_class.claim(
            request, opts, provisioner=_DRIVER, parameters=parameters, zone_key="topology.gke.io/zone"
        )
