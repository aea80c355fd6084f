"""Volumes on a Ceph file system that Rook runs: shared, with crash-consistent snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from tensorplane.components.base.model import In, Name, NonEmptyStr, ObjectName
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.produced import as_input
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import storage_class_per_volume
from tensorplane.components.volumes.backend import Backend, Request
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.capabilities import CSI, AccessMode, Capabilities
from tensorplane.components.volumes.snapshots.snapshot_class import SnapshotClass


class CephFs(Backend):
    """A subvolume of an existing Ceph file system. The defaults are the names that Rook uses."""

    kind: Literal["cephfs"] = "cephfs"

    file_system: Name = "myfs"
    """Name of the CephFilesystem, as in `kubectl -n rook-ceph get cephfilesystems`."""
    cluster_id: Name = "rook-ceph"
    """Namespace of the Rook cluster, which has its Secrets."""
    driver: ObjectName = "rook-ceph.cephfs.csi.ceph.com"
    """CSI driver, as in `kubectl get csidrivers`. Rook prefixes it with its operator's namespace."""
    pool: In[NonEmptyStr] | None = None
    """Data pool, such as myfs-replicated; the file system's first pool by default."""
    provisioner_secret: ObjectName = "rook-csi-cephfs-provisioner"  # noqa: S105  # a name
    """Secret with which the driver creates, expands and snapshots volumes."""
    node_secret: In[ObjectName] = "rook-csi-cephfs-node"  # noqa: S105  # a name
    """Secret with which nodes mount volumes."""
    kms_id: In[NonEmptyStr] | None = None
    """Key in Rook's ConfigMap rook-ceph-csi-kms-config, to encrypt the volume with fscrypt. tensorplane does not know
    whether Ceph's disks are encrypted."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"existing", "eks", "gke", "aks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot=CSI,
        group_snapshot=CSI,
        clone=CSI,
        mirror={"peer": "Ceph"},
        expand=True,
        mount_scope="region",
        encryption="with `kmsId`: fscrypt",
        quota="CephFS' clients",
        external_access="`mount -t ceph` with your own key, where Ceph's monitors and OSDs are reachable",
        consistency="crash-consistent",
        throughput_depends_on="Ceph's OSDs",
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
        parameters = {"clusterID": self.cluster_id, "fsName": self.file_system, **secret}
        return SnapshotClass(self.driver, tuple(sorted(parameters.items())), group=True)

    @property
    def reads_snapshots(self) -> bool:
        # Ceph-CSI's shallow volumes do not support a StorageClass with a pool.
        return self.pool is None

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        if args.encrypted and self.kms_id is None:
            reason = "missing, but encrypted: true requires it; set the driver's KMS configuration, or encrypted: false"
            yield Problem(("backend", "kmsId"), reason, given=(("encrypted",),))
        only_read = args.source and args.source.snapshot and args.access_modes == ["ReadOnlyMany"]
        if args.mirror and args.mirror.to.peer and only_read and self.reads_snapshots:
            reason = (
                "is not supported for a shallow read-only volume, which has no directory of its own; mirror its origin"
            )
            yield Problem(("mirror", "to", "peer"), reason, given=(("accessModes",),))

    @classmethod
    def mirror_command(cls, csi: Mapping[str, Any]) -> str | None:
        """Asks the mirror daemon, which alone knows what it has sent; its sockets list the status commands."""
        if not str(csi.get("driver", "")).endswith("cephfs.csi.ceph.com"):
            return None
        attributes = csi.get("volumeAttributes") or {}
        each = (
            "for s in /var/run/ceph/*fs-mirror*.asok; do "
            'ceph --admin-daemon $s help | grep -o "fs mirror peer status [^\\"]*" | '
            "while read -r c; do ceph --admin-daemon $s $c </dev/null; done; done"
        )
        directory = attributes.get("subvolumePath", "").rpartition("/")[0]
        own = f" | grep -A 5 '\"{directory}\"'" if directory else ""
        namespace = attributes.get("clusterID", "rook-ceph")
        return f"kubectl -n {namespace} exec deploy/rook-ceph-fs-mirror -- sh -c '{each}'{own}"

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        parameters: dict[str, pulumi.Input[str]] = {
            "clusterID": self.cluster_id,
            "fsName": self.file_system,
            **({"pool": as_input(self.pool)} if self.pool else {}),
            **({"encrypted": "true", "encryptionKMSID": as_input(self.kms_id)} if self.kms_id else {}),
            **self._secret("provisioner", self.provisioner_secret),
            **self._secret("controller-expand", self.provisioner_secret),
            **self._secret("controller-publish", self.provisioner_secret),
            **storage_class_per_volume.secret("node-stage", as_input(self.node_secret), self.cluster_id),
        }
        return storage_class_per_volume.claim(request, opts, provisioner=self.driver, parameters=parameters)

    def _secret(self, use: str, name: str) -> dict[str, str]:
        return storage_class_per_volume.secret(use, name, self.cluster_id)
