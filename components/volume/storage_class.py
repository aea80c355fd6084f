"""Volumes of any StorageClass that the cluster has."""

from typing import ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s

from components.model import Filled
from components.volume.backend import Backend, Request
from components.volume.capabilities import CLASS_DECIDES, CSI, Capabilities


class StorageClass(Backend):
    """A volume that the cluster's own driver provisions. Its reclaim policy decides what deleting the claim deletes."""

    kind: Literal["storageClass"] = "storageClass"

    name: Filled | None = None
    """Name of the StorageClass; the cluster's default class where absent."""
    driver: Filled | None = None
    """The class' CSI driver, such as rook-ceph.cephfs.csi.ceph.com. Needed for snapshots."""

    own_class: ClassVar[bool] = False
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot=CSI,
        clone=CSI,
        expand=True,
        consistency=CLASS_DECIDES,
    )

    @property
    def csi_driver(self) -> str | None:
        return self.driver

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        return request.claim(opts, storage_class=self.name)
