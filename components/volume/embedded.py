"""Volumes of the embedded cluster: in its pool on this machine, by its own CSI driver."""

from typing import ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s

from components.volume import capabilities
from components.volume.backend import Backend, Request
from components.volume.capabilities import AccessMode, Capabilities

CLASS = "tensorplane-embedded"
"""The StorageClass that the embedded cluster has."""
DRIVER = "btrfs.csi.tensorplane.dev"


class Embedded(Backend):
    """A part of the pool of this machine. Every pod can share it."""

    kind: Literal["embedded"] = "embedded"

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"embedded"})
    own_class: ClassVar[bool] = False
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot=capabilities.CSI,
        clone=capabilities.CSI,
        expand=True,
        reach="node",
        quota="btrfs",
        consistency="as after a power cut",
        throughput="this machine's disk",
        volsync=False,
    )

    @property
    def csi_driver(self) -> str | None:
        return DRIVER

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        return request.claim(opts, storage_class=CLASS)
