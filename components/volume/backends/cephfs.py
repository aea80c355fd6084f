"""Volumes on a Ceph file system that Rook runs: shared by all nodes, with snapshots of one moment."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s

from components.cluster import ClusterArgs
from components.faults import Fault
from components.model import Filled, Name, ObjectName
from components.volume import own_class
from components.volume.backend import Backend, Request
from components.volume.capabilities import CSI, AccessMode, Capabilities
from components.volume.snapshot_class import SnapshotClass

if TYPE_CHECKING:
    from components.volume import VolumeArgs


class CephFs(Backend):
    """A part of a Ceph file system that is there already; the names are those that Rook gives by default."""

    kind: Literal["cephfs"] = "cephfs"

    file_system: Name = "myfs"
    """The CephFilesystem: `kubectl -n rook-ceph get cephfilesystems`."""
    cluster_id: Name = "rook-ceph"
    """Namespace of the Rook cluster, where its Secrets are."""
    driver: ObjectName = "rook-ceph.cephfs.csi.ceph.com"
    """The CSI driver, as `kubectl get csidrivers` has it: Rook puts its operator's namespace in front."""
    pool: Filled | None = None
    """Data pool, such as myfs-replicated; the file system's first one by default."""
    provisioner_secret: ObjectName = "rook-csi-cephfs-provisioner"  # noqa: S105  # a name
    """Secret by which the driver makes, grows and snapshots volumes."""
    node_secret: ObjectName = "rook-csi-cephfs-node"  # noqa: S105  # a name
    """Secret by which nodes mount them."""
    kms_id: Filled | None = None
    """Encrypt it with fscrypt: the key in Rook's ConfigMap rook-ceph-csi-kms-config. Whether Ceph's disks are encrypted
    is Ceph's own setting, which nobody here knows."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"existing", "eks", "gke", "aks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot=CSI,
        group_snapshot=CSI,
        clone=CSI,
        mirror={"peer": "Ceph"},
        expand=True,
        reach="region",
        encryption="with `kmsId`: fscrypt",
        quota="CephFS' clients",
        outside="`mount -t ceph` with a key of yours, where Ceph's monitors and OSDs are reached",
        consistency="as after a power failure",
        throughput="Ceph's OSDs",
    )

    @property
    def csi_driver(self) -> str | None:
        return self.driver

    @property
    def snapshot_parameters(self) -> Mapping[str, str]:
        return {"clusterID": self.cluster_id, **self._secret("snapshotter", self.provisioner_secret)}

    @property
    def group_class(self) -> SnapshotClass:
        secret = self._secret("group-snapshotter", self.provisioner_secret)
        told = {"clusterID": self.cluster_id, "fsName": self.file_system, **secret}
        return SnapshotClass(self.driver, tuple(sorted(told.items())), group=True)

    @property
    def reads_snapshots(self) -> bool:
        # Ceph-CSI has volumes that are a snapshot, but in no pool that a class names.
        return self.pool is None

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        if args.encrypted and self.kms_id is None:
            reason = "missing, and encrypted needs it: the key by which the driver encrypts, or encrypted: false"
            yield Fault(("backend", "kmsId"), reason, given=(("encrypted",),))
        only_read = args.source and args.source.snapshot and args.access_modes == ["ReadOnlyMany"]
        if args.mirror and args.mirror.to.peer and only_read and self.reads_snapshots:
            reason = "given, and a volume that is a snapshot, mounted as it is, has no directory: mirror its origin"
            yield Fault(("mirror", "to", "peer"), reason, given=(("accessModes",),))

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        parameters = {
            "clusterID": self.cluster_id,
            "fsName": self.file_system,
            **({"pool": self.pool} if self.pool else {}),
            **({"encrypted": "true", "encryptionKMSID": self.kms_id} if self.kms_id else {}),
            **self._secret("provisioner", self.provisioner_secret),
            **self._secret("controller-expand", self.provisioner_secret),
            **self._secret("controller-publish", self.provisioner_secret),
            **self._secret("node-stage", self.node_secret),
        }
        return own_class.claim(request, opts, provisioner=self.driver, parameters=parameters)

    def _secret(self, use: str, name: str) -> dict[str, str]:
        return own_class.secret(use, name, self.cluster_id)
