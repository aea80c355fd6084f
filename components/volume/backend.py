"""The family of storage backends: what each of them declares, and how it makes a claim."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pulumi
import pulumi_kubernetes as k8s

from components import quantity
from components.cluster import Cluster, ClusterArgs
from components.family import Variant
from components.faults import Fault
from components.labels import labels
from components.namespace import Namespace
from components.volume.capabilities import CSI, AccessMode, Capabilities
from components.volume.marks import Marks
from components.volume.snapshot_class import SnapshotClass

if TYPE_CHECKING:
    from components.volume import VolumeArgs


@dataclass(frozen=True)
class Request:
    """One volume as a backend sees it."""

    name: str
    namespace: Namespace
    args: "VolumeArgs"
    cluster: Cluster
    access_modes: list[AccessMode]
    installed: Sequence[pulumi.Resource] = ()
    """What must be there before anything can be mounted: see `Backend.install`."""
    source: "k8s.core.v1.TypedLocalObjectReferenceArgsDict | None" = None
    """What it begins with."""
    copied: bool = False
    """Whether copies of it come and go, by which a mirror is of one moment."""

    def claim(
        self,
        opts: pulumi.ResourceOptions,
        *,
        storage_class: pulumi.Input[str] | None,
        volume: pulumi.Input[str] | None = None,
        attributes_class: pulumi.Input[str] | None = None,
    ) -> "k8s.core.v1.PersistentVolumeClaim":
        """The claim that pods mount. `storage_class` None asks for the cluster's default class, "" for none.

        `attributes_class` is what may change later: Kubernetes lets no claim go back to having none.
        """
        spec: k8s.core.v1.PersistentVolumeClaimSpecArgsDict = {
            "access_modes": self.access_modes,
            "resources": {"requests": {"storage": quantity.gibibytes(self.args.size_gib)}},
        }
        if storage_class is not None:
            spec["storage_class_name"] = storage_class
        if volume is not None:
            spec["volume_name"] = volume
        if attributes_class is not None:
            spec["volume_attributes_class_name"] = attributes_class
        if self.source:
            spec["data_source"] = self.source
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
    """What stores the bytes of a volume."""

    kind: str

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteOnce",)
    """Access modes of volumes that name none."""
    clusters: ClassVar[frozenset[str] | None] = None
    """Kinds of cluster that have this backend; None for all."""
    marks: ClassVar[Marks] = Marks()
    """What pods say of themselves that mount a volume of it."""
    mirror_copies: ClassVar[bool] = True
    """Whether a volume made of a snapshot is whole and cheap, so that a mirror may send such a copy."""
    tells_what_is_lost: ClassVar[bool] = False
    """Whether a volume that its driver does not find is gone for certain. Others may not mean what they say."""
    snapshots_outlive_it: ClassVar[bool] = True
    """Whether a snapshot stays when the volume that it is of is deleted."""
    own_class: ClassVar[bool] = True
    """Whether a volume that a driver makes has a StorageClass of its own."""
    capabilities: ClassVar[Capabilities]
    """What volumes of it can do."""

    @property
    def csi_driver(self) -> str | None:
        """The CSI driver that takes its snapshots, as Kubernetes knows it; None where none does."""
        return None

    @property
    def snapshot_parameters(self) -> Mapping[str, str]:
        """What the driver is told about each snapshot."""
        return {}

    @property
    def reads_snapshots(self) -> bool:
        """Whether a snapshot can be mounted read-only as it is, without a copy."""
        return False

    @property
    def snapshot_class(self) -> SnapshotClass | None:
        """The class of its snapshots; None where no CSI driver that we know takes them."""
        if self.capabilities.snapshot != CSI or self.csi_driver is None:
            return None
        return SnapshotClass(self.csi_driver, tuple(sorted(self.snapshot_parameters.items())))

    @property
    def renames(self) -> bool:
        """Whether a file or a folder can be renamed at once, which checkpoints and models need."""
        return self.capabilities.rename

    @property
    def same_in_copies(self) -> tuple[object, ...]:
        """What a volume has in common with one that begins as a copy of it."""
        return self.kind, self.snapshot_class

    @property
    def group_class(self) -> SnapshotClass | None:
        """The class of snapshots of several of its volumes at one instant; None where the driver takes none."""
        return None

    def is_on(self, cluster: ClusterArgs) -> bool:
        """Whether this kind of cluster has it."""
        return self.clusters is None or cluster.kind in self.clusters

    def in_one_zone(self, cluster: ClusterArgs) -> bool:
        """Whether a volume of it is in a zone that only the pods of that zone can mount it in."""
        return self.capabilities.reach == "zone"

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        """What is wrong with a volume of this backend, beyond what its capabilities say. Paths begin at the volume."""
        yield from ()

    def makes(self, name: str, args: "VolumeArgs") -> Iterator[tuple[str, str]]:
        """Kinds and names of what it makes for a volume, as far as another volume's may be the same."""
        yield from ()

    @classmethod
    def check_together(cls, volumes: Mapping[str, "VolumeArgs"], cluster: ClusterArgs) -> Iterator[Fault]:
        """What is wrong with all volumes of this kind, which are these, where each is right. Paths begin at theirs."""
        yield from ()

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, "VolumeArgs"]
    ) -> Sequence[pulumi.Resource]:
        """Create what all volumes of this kind, which are these, share: called once, of one of their backends."""
        return ()

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        """Create the claim, and what it needs, as children."""
        raise NotImplementedError
