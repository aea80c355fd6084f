"""Settings of a volume that do not depend on the backends; backends read these."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from tensorplane.agents.snapshots import manifest
from tensorplane.components.base.model import Model, Moved, Relocation, Zones
from tensorplane.components.base.value_types import MountPath
from tensorplane.components.volumes.capabilities import AccessMode
from tensorplane.components.volumes.members import Member
from tensorplane.components.volumes.mirrors.settings import MirrorArgs
from tensorplane.components.volumes.snapshots.settings import SnapshotsArgs
from tensorplane.components.volumes.source import Source


class PlacementArgs(Model):
    """Where a volume is created. Pods that mount it run where it is reachable."""

    zones: Annotated[Zones, Field(min_length=1)]
    """Zones; the volume is created in one of them."""


class CacheArgs(Model):
    """A cache for repeated reads, close to the pods."""

    size_gib: Annotated[float, Field(gt=0, le=65536)]
    """Size of the cache in GiB, on each node or where the backend keeps it."""


def _stream_moved(volume: str, stream: Any) -> Moved:
    broker = stream.get("broker") if isinstance(stream, Mapping) else None
    elsewhere = isinstance(broker, Mapping) and broker.get("kind") != "embedded"
    text = f"streams have a key of their own; move it to streams.{volume}"
    return Moved(("streams", volume), text if elsewhere else f"{text}, with volume: {volume}")


class VolumeSettings(Model):
    """One volume as its backend sees it. Backends import this, and `VolumeArgs` imports the backends."""

    moved: ClassVar[Mapping[str, Relocation]] = {"stream": _stream_moved}

    size_gib: Annotated[float, Field(gt=0, le=1048576)]
    """Size in GiB. It can grow, but not shrink."""
    backend: Model | None = None
    """The backend. `VolumeArgs` narrows its type; declared here to keep the order of the settings."""
    access_modes: Annotated[list[AccessMode], Field(min_length=1)] | None = None
    """Access modes of the PersistentVolumeClaim. By default ReadWriteMany; ReadWriteOnce on disks and on backend
    `storageClass`."""
    source: Annotated[Source | None, Field(alias="from")] = None
    """What the volume is restored or cloned from: a snapshot, another volume, or a mirror. Empty by default."""
    snapshots: SnapshotsArgs | None = None
    """Scheduled snapshots; none by default."""
    mirror: MirrorArgs | None = None
    """A continuously updated copy elsewhere; none by default."""
    placement: PlacementArgs | None = None
    """Zones of the volume. By default the first pod that mounts it, or the backend, decides."""
    path: MountPath | None = None
    """Mount path in all training pods; by default each job sets its own."""
    readers: tuple[Member, ...] | None = None
    """Workloads, other service accounts, and user groups (`group:NAME`) that may mount it read-only. If neither this
    nor `writers` is set, every pod of the namespace may mount it."""
    writers: tuple[Member, ...] | None = None
    """Workloads, service accounts and user groups that may read and write. If only `readers` is set, nobody may write.
    """
    quota: bool = False
    """Whether `sizeGib` must be enforced. Refuses backends that let a volume grow beyond it."""
    cache: CacheArgs | None = None
    """A cache for repeated reads, close to the pods; none by default."""
    encrypted: bool = False
    """Whether encryption at rest is required. Refuses backends that are not known to encrypt. The clouds' backends
    always encrypt."""
    retain: bool = True
    """Whether deletion is refused. Set it to false and deploy before you remove the volume and its data."""

    @property
    def labels(self) -> dict[str, str]:
        """Additional labels of its claim."""
        group = self.snapshots.group if self.snapshots else None
        return {manifest.VOLUME_GROUP_LABEL: group} if group else {}

    @property
    def is_rebound(self) -> bool:
        """Whether a recreated claim is bound to its former PersistentVolume. Not if the volume starts from a mirror."""
        return self.retain and not (self.source and self.source.mirror_of)
