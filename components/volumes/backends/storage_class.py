"""Volumes of any StorageClass of the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from tensorplane.components.base.model import In, ObjectName
from tensorplane.components.base.problems import Note, Problem
from tensorplane.components.base.produced import as_input, known
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters import storage_class_names
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes.backend import Backend, Request
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.capabilities import CLASS_DECIDES, CSI, Capabilities
from tensorplane.components.volumes.snapshots.snapshot_class import SnapshotClass


class StorageClass(Backend):
    """A volume that a driver of the cluster provisions. Its reclaim policy decides whether deleting the claim deletes
    the data."""

    kind: Literal["storageClass"] = "storageClass"

    name: In[ObjectName] | None = None
    """Name of the StorageClass; the cluster's default class by default."""
    driver: ObjectName | None = None
    """CSI driver of the class, such as rook-ceph.cephfs.csi.ceph.com. Required for snapshots."""

    group_snapshot_class: ObjectName | None = None
    """Existing VolumeGroupSnapshotClass of the driver. Required for group snapshots."""

    class_per_volume: ClassVar[bool] = False
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot=CSI,
        group_snapshot="CSI, with `groupSnapshotClass`",
        clone=CSI,
        expand=True,
        consistency=CLASS_DECIDES,
    )

    @property
    def csi_driver(self) -> str | None:
        return self.driver

    @property
    def group_class(self) -> SnapshotClass | None:
        if self.driver is None or self.group_snapshot_class is None:
            return None
        return SnapshotClass(self.driver, group=True, existing=self.group_snapshot_class)

    def in_one_zone(self, cluster: ClusterArgs) -> bool:
        return self.name is None and cluster.default_disks is not None and cluster.disks_are_zonal

    @property
    def may_have_content(self) -> bool:
        # The initial content of volumes of a custom class is unknown.
        return True

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        if args.snapshots and args.snapshots.group and self.group_snapshot_class is None:
            reason = "missing, but group snapshots require it; choose one from kubectl get volumegroupsnapshotclasses"
            yield Problem(("backend", "groupSnapshotClass"), reason, given=(("snapshots", "group"),))
        if self.name is None and cluster.default_disks and not self.for_one_node(args):
            reason = (
                f"{', '.join(args.access_modes or ())} is not supported by the default StorageClass "
                f"({cluster.default_disks})"
            )
            remedy = "which is ReadWriteOnce; set another class or kind in backend"
            yield Problem(("accessModes",), f"{reason}, {remedy}", given=(("backend",),))
        if (name := known(self.name)) and (problem := storage_class_names.find_problem(name, cluster)):
            yield Problem(("backend", "name"), problem, given=(("cluster",),))

    def notes(self, cluster: ClusterArgs) -> Iterator[Note]:
        # If `driver` is set, the user has installed it, together with its class.
        if (name := known(self.name)) and self.driver is None and (text := storage_class_names.note(name, cluster)):
            yield Note(("backend", "name"), text)

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        return request.claim(opts, storage_class=as_input(self.name) if self.name else None)
