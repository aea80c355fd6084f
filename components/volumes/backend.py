"""The family of storage backends: what each declares, and how it creates a claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tensorplane.components.base import quantities
from tensorplane.components.base.family import UNTRIED, Variant
from tensorplane.components.base.labels import labels
from tensorplane.components.base.problems import Note, Problem
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.capabilities import CSI, AccessMode, Capabilities
from tensorplane.components.volumes.snapshots.snapshot_class import SnapshotClass

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster
    from tensorplane.components.namespace.component import Namespace


@dataclass(frozen=True)
class PodMetadata:
    """Labels and annotations of every pod that mounts a volume. Those of several volumes are merged."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """One volume as its backend sees it."""

    name: str
    namespace: Namespace
    args: VolumeSettings
    cluster: Cluster
    access_modes: list[AccessMode]
    installed: Sequence[pulumi.Resource] = ()
    """Resources that must exist before pods mount the volume, see `Backend.install`."""
    source: k8s.core.v1.TypedLocalObjectReferenceArgsDict | None = None
    """What the volume is restored or cloned from."""
    copied: bool = False
    """Whether a mirror makes temporary copies of the volume."""

    def claim(
        self,
        opts: pulumi.ResourceOptions,
        *,
        storage_class: pulumi.Input[str] | None,
        volume: pulumi.Input[str] | None = None,
        attributes_class: pulumi.Input[str] | None = None,
    ) -> k8s.core.v1.PersistentVolumeClaim:
        """The PersistentVolumeClaim. `storage_class` None uses the cluster's default class, "" uses none.

        `attributes_class` is the only mutable class: Kubernetes does not let a claim drop it again.
        """
        spec: k8s.core.v1.PersistentVolumeClaimSpecArgsDict = {
            "access_modes": self.access_modes,
            "resources": {"requests": {"storage": quantities.gibibytes(self.args.size_gib)}},
        }
        if storage_class is not None:
            spec["storage_class_name"] = storage_class
        if volume is not None:
            spec["volume_name"] = volume
        if attributes_class is not None:
            spec["volume_attributes_class_name"] = attributes_class
        if self.source:
            spec["data_source"] = self.source
        else:
            # The field is immutable, and settings may omit `from` once the volume exists.
            opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["spec.dataSource"]))
        return k8s.core.v1.PersistentVolumeClaim(
            self.name,
            metadata={
                "name": self.name,
                "namespace": self.namespace.name,
                "labels": {**labels(self.name, "volume"), **self.args.labels},
            },
            spec=spec,
            opts=opts,
        )


class Backend(Variant, family=True):
    """The storage of a volume."""

    kind: str
    untried: ClassVar[str] = UNTRIED

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteOnce",)
    """Default access modes."""
    clusters: ClassVar[frozenset[str] | None] = None
    """Kinds of clusters that have this backend; None for all."""
    pod_metadata: ClassVar[PodMetadata] = PodMetadata()
    """Labels and annotations of pods that mount a volume of the backend."""
    mirror_copies: ClassVar[bool] = True
    """Whether mirrors can send a temporary copy that is made from a snapshot, because such copies are complete and
    cheap."""
    not_found_means_lost: ClassVar[bool] = False
    """Whether a volume is certainly gone if its driver does not find it."""
    snapshots_outlive_volume: ClassVar[bool] = True
    """Whether snapshots stay when their volume is deleted."""
    class_per_volume: ClassVar[bool] = True
    """Whether each dynamically provisioned volume has a StorageClass of its own."""
    capabilities: ClassVar[Capabilities]
    """Features of the backend's volumes."""

    @property
    def csi_driver(self) -> str | None:
        """Name of the CSI driver that takes snapshots; None if there is none."""
        return None

    @property
    def snapshot_parameters(self) -> Mapping[str, str]:
        """Parameters of the VolumeSnapshotClass."""
        return {}

    @property
    def reads_snapshots(self) -> bool:
        """Whether a snapshot can be mounted read-only without a copy."""
        return False

    @property
    def snapshot_class(self) -> SnapshotClass | None:
        """The VolumeSnapshotClass; None if no known CSI driver takes snapshots."""
        if self.capabilities.snapshot != CSI or self.csi_driver is None:
            return None
        return SnapshotClass(self.csi_driver, tuple(sorted(self.snapshot_parameters.items())))

    @property
    def mirror_class(self) -> SnapshotClass | None:
        """The VolumeSnapshotClass of the copies that a mirror sends; None if the mirror reads the volume itself."""
        return self.snapshot_class if self.mirror_copies else None

    @property
    def renames(self) -> bool:
        """Whether files and directories can be renamed atomically, which checkpoints and models require."""
        return self.capabilities.rename

    @property
    def may_have_content(self) -> bool:
        """Whether a new volume can have content that does not come from `from`."""
        return False

    @property
    def same_in_copies(self) -> tuple[object, ...]:
        """Settings that a volume shares with its clones."""
        return self.kind, self.snapshot_class

    @property
    def group_class(self) -> SnapshotClass | None:
        """The VolumeGroupSnapshotClass; None if the driver does not support group snapshots."""
        return None

    def is_on(self, cluster: ClusterArgs) -> bool:
        """Whether this kind of cluster has the backend."""
        return self.clusters is None or cluster.kind in self.clusters

    def for_one_node(self, args: VolumeSettings) -> bool:
        """Whether a volume with these settings can be mounted on one node only."""
        return set(args.access_modes or self.access_modes) == {"ReadWriteOnce"}

    def in_one_zone(self, cluster: ClusterArgs) -> bool:
        """Whether a volume can be mounted in its own zone only."""
        return self.capabilities.mount_scope == "zone"

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        """Problems of a volume of this backend, beyond its capabilities. Paths are relative to the volume."""
        yield from ()

    def notes(self, cluster: ClusterArgs) -> Iterator[Note]:
        """Notes about a volume of this backend. Paths are relative to the volume."""
        yield from ()

    def makes(self, name: str, args: VolumeSettings) -> Iterator[tuple[str, str]]:
        """Kinds and names of a volume's objects that can collide with those of another volume."""
        yield from ()

    @classmethod
    def check_together(cls, volumes: Mapping[str, VolumeSettings], cluster: ClusterArgs) -> Iterator[Problem]:
        """Problems of all volumes of this backend together. Paths are relative to `volumes`."""
        yield from ()

    @classmethod
    def mirror_command(cls, csi: Mapping[str, Any]) -> str | None:
        """The command that shows how far a mirror of this backend's volume has come; None if the cluster records it.

        `csi`: the PersistentVolume's `spec.csi`, also of another backend's volume, for which it is None.
        """
        return None

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, VolumeSettings]
    ) -> Sequence[pulumi.Resource]:
        """Creates what all volumes of this backend share. Called once."""
        return ()

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        """Creates the claim and its resources, as children."""
        raise NotImplementedError
