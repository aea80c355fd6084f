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
from components.volume.clouds import another_region, copy_name

if TYPE_CHECKING:
    from components.volume import VolumeArgs

_DRIVER = "filestore.csi.storage.gke.io"
Tier = Literal["basicHdd", "basicSsd", "zonal", "regional"]
# As the driver spells it, and GiB from which on and up to which it is sold (Filestore, "Service tiers").
_TIERS: Mapping[Tier, tuple[str, int, int]] = {
    "basicHdd": ("standard", 1024, 65433),
    "basicSsd": ("premium", 2560, 65433),
    "zonal": ("zonal", 1024, 102400),
    "regional": ("regional", 1024, 102400),
}
_NEWER: tuple[Tier, ...] = ("zonal", "regional")
"""Tiers that have keys of yours, and replication (Filestore, "Service tiers")."""
_SMALL_STEP, _LARGE, _LARGE_STEP = 256, 10240, 2560
"""GiB in which those are sold, and from which on in larger steps."""


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
    mirror_kms_key: Filled | None = None
    """The key of the mirror, in its region. Needed where there are `kmsKey` and a mirror."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"gke"})
    # A restored backup is another server, of a TiB or more.
    mirror_copies: ClassVar[bool] = False
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot=CSI,
        mirror={"region": "Filestore replication"},
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

    def makes(self, name: str, args: "VolumeArgs") -> Iterator[tuple[str, str]]:
        if args.mirror and args.mirror.to.region:
            yield from copy_name.both("server", name, args)

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        yield from zones.faults(args, cluster)
        _, least, most = _TIERS[self.tier]
        known = self.capabilities.min_gib <= args.size_gib <= (self.capabilities.max_gib or 0)
        if known and not least <= args.size_gib <= most:
            limit = f"at least {least:,}" if args.size_gib < least else f"at most {most:,}"
            reason = f"got {args.size_gib:g}, Filestore has {limit} GiB in tier {self.tier}"
            yield Fault(("sizeGib",), reason, given=(("backend", "tier"),))
        if isinstance(cluster, Gke) and cluster.network.existing and self.network is None:
            reason = "missing, and the cluster is in a network of yours: the VPC network that Filestore may be in"
            yield Fault(("backend", "network"), reason)
        if self.tier in _NEWER:
            yield from self._step(args)
            yield from another_region.faults(args, cluster, key=self.kms_key, copy_key=self.mirror_kms_key)
        elif self.kms_key:
            reason = f"given, and tier {self.tier} takes none: need tier {' or '.join(_NEWER)}"
            yield Fault(("backend", "kmsKey"), reason, given=(("backend", "tier"),))
        if args.mirror and args.mirror.to.region:
            yield from self._mirror(args, cluster)

    def _step(self, args: "VolumeArgs") -> Iterator[Fault]:
        size = args.size_gib
        step = _SMALL_STEP if size < _LARGE else _LARGE_STEP
        if size >= self.capabilities.min_gib and size % step:
            below = int(size // step) * step
            above = min(below + step, _LARGE) if size < _LARGE else below + step
            reason = f"got {size:g}, tier {self.tier} has steps of {step:,} GiB: need {below:,} or {above:,}"
            yield Fault(("sizeGib",), reason, given=(("backend", "tier"),))

    def _mirror(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        mirror = args.mirror
        if self.tier not in _NEWER:
            reason = f"given, and tier {self.tier} has none: need tier {' or '.join(_NEWER)}"
            yield Fault(("mirror",), reason, given=(("backend", "tier"),))
        if mirror and mirror.every:
            yield Fault(("mirror", "every"), f"got {mirror.every}, Filestore itself decides when: leave it out")
        if args.source:
            reason = "given, and what is mirrored begins empty: restore into a volume without mirror, and copy"
            yield Fault(("from",), reason, given=(("mirror",),))
        zoned = self.tier == "zonal" and isinstance(cluster, Gke)
        if zoned and args.placement is None and not zones.of(cluster):
            yield Fault(("placement",), "missing, and the server is in one zone, which nobody else says")
        if args.placement and len(args.placement.zones) > 1:
            yield Fault(("placement", "zones"), f"got {len(args.placement.zones)} zones, what is mirrored is in 1")

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        if request.args.mirror and request.args.mirror.to.region:
            # Here, and not above: whoever runs another kind of cluster never imports the SDK of Google Cloud.
            from components.gke import file_server

            return file_server.claim(self, request, opts)
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
