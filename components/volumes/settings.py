"""Settings of a volume."""

from typing import cast

from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.snapshots.snapshot_class import SnapshotClass


class VolumeArgs(VolumeSettings):
    """Settings of one volume."""

    backend: Backend | None = None
    """Storage backend. By default `embedded` on the embedded cluster and `storageClass` elsewhere."""

    def backend_on(self, cluster: ClusterArgs) -> Backend:
        """The backend in use on this cluster."""
        return self.backend or cast(Backend, Backend.variants[cluster.volume_backend]())

    def for_one_node(self, cluster: ClusterArgs) -> bool:
        """Whether it can be mounted on one node only."""
        return self.backend_on(cluster).for_one_node(self)

    def scheduled_class(self, cluster: ClusterArgs) -> SnapshotClass | None:
        """The VolumeSnapshotClass of its scheduled snapshots; None if it has no schedule."""
        if self.snapshots is None:
            return None
        backend = self.backend_on(cluster)
        return backend.group_class if self.snapshots.group else backend.snapshot_class

    def saved_before_deletion(self, cluster: ClusterArgs) -> bool:
        """Whether a snapshot is taken before the volume is deleted. Retained volumes are not deleted."""
        backend = self.backend_on(cluster)
        return not self.retain and backend.snapshots_outlive_volume and backend.snapshot_class is not None
