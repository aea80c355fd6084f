"""Volumes on GKE that are disks: Persistent Disk and Hyperdisk, each for the pods of one node, in one zone."""

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
_HYPERDISK = "hyperdisk-balanced"
_LEAST_OF_HYPERDISK = 4


class PersistentDisk(Backend):
    """A disk of Google Cloud. Every GKE cluster has the driver, and the disks are always encrypted."""

    kind: Literal["persistentDisk"] = "persistentDisk"

    type: Literal["pd-balanced", "pd-ssd", "hyperdisk-balanced"] = "pd-balanced"
    """The disk's type. Newer machines, from C4 and A3 Ultra on, mount hyperdisks alone; older ones none."""
    throughput_mib: Annotated[int, Field(ge=140, le=2400)] | None = None
    """MiB per second of a hyperdisk; by its size where absent. Those of other types follow from their size."""
    iops: Annotated[int, Field(ge=3000, le=160000)] | None = None
    """Reads and writes per second of a hyperdisk; by its size where absent."""
    kms_key: Filled | None = None
    """Cloud KMS key that encrypts it (projects/…/cryptoKeys/…), which Compute Engine's agent may use. Google's own by
    default."""

    clusters: ClassVar[frozenset[str] | None] = frozenset({"gke"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce",),
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
        if self.type != _HYPERDISK:
            for key, value in (("throughputMib", self.throughput_mib), ("iops", self.iops)):
                if value is not None:
                    reason = f"given, and that of a {self.type} follows from its size: need type {_HYPERDISK}"
                    yield Fault(("backend", key), reason, given=(("backend", "type"),))
        elif args.size_gib < _LEAST_OF_HYPERDISK:
            reason = f"got {args.size_gib:g}, a {_HYPERDISK} has at least {_LEAST_OF_HYPERDISK} GiB"
            yield Fault(("sizeGib",), reason, given=(("backend", "type"),))

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        asked = {
            "disk-encryption-kms-key": self.kms_key,
            "provisioned-iops-on-create": str(self.iops) if self.iops else None,
            "provisioned-throughput-on-create": f"{self.throughput_mib}Mi" if self.throughput_mib else None,
        }
        parameters = {"type": self.type, **{key: value for key, value in asked.items() if value}}
        return own_class.claim(
            request, opts, provisioner=_DRIVER, parameters=parameters, zone_key="topology.gke.io/zone"
        )
