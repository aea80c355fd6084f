"""Volumes of any StorageClass that the cluster has."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s

from components.cluster import ClusterArgs
from components.faults import Fault
from components.model import ObjectName
from components.volume.backend import Backend, Request
from components.volume.capabilities import CLASS_DECIDES, CSI, Capabilities
from components.volume.snapshot_class import SnapshotClass

if TYPE_CHECKING:
    from components.volume import VolumeArgs


class StorageClass(Backend):
    """A volume that the cluster's own driver provisions. Its reclaim policy decides what deleting the claim deletes."""

    kind: Literal["storageClass"] = "storageClass"

    name: ObjectName | None = None
    """Name of the StorageClass; the cluster's default class where absent."""
    driver: ObjectName | None = None
    """The class' CSI driver, such as rook-ceph.cephfs.csi.ceph.com. Needed for snapshots."""

    group_snapshot_class: ObjectName | None = None
    """A VolumeGroupSnapshotClass of the driver that the cluster has. Needed for snapshots of a group."""

    own_class: ClassVar[bool] = False
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
        # Those of AKS' are copied to every zone of a cluster that has several.
        return self.name is None and cluster.default_disks is not None and cluster.kind != "aks"

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        if args.snapshots and args.snapshots.group and self.group_snapshot_class is None:
            reason = "missing, and snapshots of a group need it, as `kubectl get volumegroupsnapshotclasses` has it"
            yield Fault(("backend", "groupSnapshotClass"), reason, given=(("snapshots", "group"),))
        if self.name is None and cluster.default_disks and not args.for_one_node(cluster):
            reason = (
                f"got {', '.join(args.access_modes or ())}, and the default StorageClass has {cluster.default_disks}"
            )
            need = "which the pods of one node mount (ReadWriteOnce); name another class in `backend`, or another kind"
            yield Fault(("accessModes",), f"{reason}, {need}", given=(("backend",),))

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        return request.claim(opts, storage_class=self.name)
