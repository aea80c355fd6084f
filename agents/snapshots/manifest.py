"""The VolumeSnapshot of a volume; its labels name the volume and the reason."""

from __future__ import annotations

from datetime import datetime
from typing import Any

GROUP = "snapshot.storage.k8s.io"
VOLUME = "tensorplane.dev/volume"
VOLUME_GROUP = "tensorplane.dev/snapshot-group"
"""The label of the claims of a group, and of its snapshots."""
REASON = "tensorplane.dev/reason"
SCHEDULE, MANUAL, BEFORE_CHANGE = "schedule", "manual", "before-change"
PART_OF = {"app.kubernetes.io/part-of": "tensorplane"}


def name_of(volume: str, moment: datetime, reason: str) -> str:
    """NAME-DATE-TIME in UTC. Scheduled ones end with the minute that they were due, so a retry takes the same one."""
    return f"{volume}-{moment:%Y%m%d-%H%M}" if reason == SCHEDULE else f"{volume}-{moment:%Y%m%d-%H%M%S}"


def snapshot(name: str, volume: str, snapshot_class: str, reason: str, *, by: str = "snapshotter") -> dict[str, Any]:
    """The object to create."""
    labels = {VOLUME: volume, REASON: reason, **PART_OF, "app.kubernetes.io/managed-by": by}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": name, "labels": labels},
        "spec": {"volumeSnapshotClassName": snapshot_class, "source": {"persistentVolumeClaimName": volume}},
    }
