"""Volumes on GKE that are disks: Persistent Disk and Hyperdisk, each for the pods of one node, in one zone."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s
from pydantic import Field

from components.cluster import ClusterArgs
from components.faults import Fault
from components.model import Filled
from components.volume import own_class, zones
from components.volume.backend import Backend, Request
from components.volume.capabilities import CSI, Capabilities

if TYPE_CHECKING:
    from components.volume import VolumeArgs

_DRIVER = "pd.csi.storage.gke.io"
_HYPERDISK, _READ_ONLY = "hyperdisk-balanced", "hyperdisk-ml"
_LEAST_OF_HYPERDISK = 4
_FASTEST = 2400
"""MiB per second of a hyperdisk-balanced."""
_LEAST_WITH_IOPS = 6
"""GiB of a hyperdisk-balanced whose IOPS one may choose: 4 GiB have 2,000 and 5 GiB 2,500, larger ones at least 3,000
(kubernetes-sigs/gcp-compute-persistent-disk-csi-driver#2054)."""
_SLOWEST_ML, _SLOWEST_ML_EACH, _FASTEST_ML_EACH = 400, 0.12, 1600
"""MiB per second of a hyperdisk-ml, and for each GiB of it (Compute Engine, "About Hyperdisk ML")."""


class PersistentDisk(Backend):
    """A disk of Google Cloud. Every GKE cluster has the driver, and the disks are always encrypted."""

    kind: Literal["persistentDisk"] = "persistentDisk"

    type: Literal["pd-balanced", "pd-ssd", "hyperdisk-balanced", "hyperdisk-ml"] = "pd-balanced"
    """The disk's type. Newer machines, from C4 and A3 Ultra on, mount hyperdisks alone; older ones none.

    A hyperdisk-ml that begins as a snapshot is read by the pods of many nodes at once: `accessModes: [ReadOnlyMany]`.
    """
    throughput_mib: Annotated[int, Field(ge=140, le=2097152)] | None = None
    """MiB per second of a hyperdisk; by its size where absent. Those of other types follow from their size."""
    iops: Annotated[int, Field(ge=3000, le=160000)] | None = None
    """Reads and writes per second of a hyperdisk-balanced; by its size where absent."""
    kms_key: Filled | None = None
    """Cloud KMS key that encrypts it (projects/…/cryptoKeys/…), which Compute Engine's agent may use. Google's own by
    default."""

    clusters: ClassVar[frozenset[str] | None] = frozenset({"gke"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadOnlyMany"),
        snapshot=CSI,
        clone=CSI,
        expand=True,
        placement="zones",
        reach="zone",
        encryption="always; `kmsKey`",
        quota="the disk",
        min_gib=1,
        max_gib=65536,
        consistency="as after a power failure",
        throughput="size, or `throughputMib`",
    )

    @property
    def csi_driver(self) -> str | None:
        return _DRIVER

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        yield from zones.faults(args, cluster)
        if self.type == _READ_ONLY:
            yield from self._ml(args.size_gib)
        elif self.type == _HYPERDISK and self.throughput_mib and self.throughput_mib > _FASTEST:
            reason = f"got {self.throughput_mib}, a {self.type} has at most {_FASTEST:,}"
            yield Fault(("backend", "throughputMib"), reason, given=(("backend", "type"),))
        elif self.type == _HYPERDISK and self.iops and math.ceil(args.size_gib) < _LEAST_WITH_IOPS:
            reason = (
                f"got {self.iops}, and a {self.type} of less than {_LEAST_WITH_IOPS} GiB has what its size gives it"
            )
            yield Fault(("backend", "iops"), f"{reason}: leave it out", given=(("sizeGib",),))
        by_size = [("iops", self.iops)] if self.type != _HYPERDISK else []
        if not self.type.startswith("hyperdisk"):
            by_size.insert(0, ("throughputMib", self.throughput_mib))
        for key, value in by_size:
            if value is not None:
                reason = f"given, and that of a {self.type} follows from its size: need type {_HYPERDISK}"
                yield Fault(("backend", key), reason, given=(("backend", "type"),))
        if self.type.startswith("hyperdisk") and args.size_gib < _LEAST_OF_HYPERDISK:
            reason = f"got {args.size_gib:g}, a {self.type} has at least {_LEAST_OF_HYPERDISK} GiB"
            yield Fault(("sizeGib",), reason, given=(("backend", "type"),))
        if args.access_modes and "ReadOnlyMany" in args.access_modes:
            yield from self._read_only(args)

    def _ml(self, size: float) -> Iterator[Fault]:
        least, most = max(_SLOWEST_ML, math.ceil(size * _SLOWEST_ML_EACH)), int(size * _FASTEST_ML_EACH)
        if self.throughput_mib and not least <= self.throughput_mib <= most:
            reason = f"got {self.throughput_mib}, a {self.type} of {size:g} GiB has {least:,} to {most:,}"
            yield Fault(("backend", "throughputMib"), reason, given=(("sizeGib",),))

    def _read_only(self, args: "VolumeArgs") -> Iterator[Fault]:
        """Only this type is attached to many machines, and for reading alone: what it has, it begins with."""
        at = ("accessModes",)
        if self.type != _READ_ONLY:
            reason = f"got ReadOnlyMany, which a {self.type} has not: need type {_READ_ONLY}"
            yield Fault(at, reason, given=(("backend", "type"),))
        elif args.access_modes != ["ReadOnlyMany"]:
            yield Fault(at, "got ReadOnlyMany and another, and the disk is either: need one of them")
        elif args.source is None or args.source.snapshot is None:
            yield Fault(("from",), "missing, and nobody can write to it: the snapshot that it begins as")

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        asked = {
            "disk-encryption-kms-key": self.kms_key,
            "provisioned-iops-on-create": str(self.iops) if self.iops else None,
            "provisioned-throughput-on-create": f"{self.throughput_mib}Mi" if self.throughput_mib else None,
        }
        parameters = {"type": self.type, **{key: value for key, value in asked.items() if value}}
        return own_class.claim(
            request, opts, provisioner=_DRIVER, parameters=parameters, zone_key="topology.gke.io/zone"
        )
