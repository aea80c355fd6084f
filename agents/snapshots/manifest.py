"""The VolumeSnapshot of a volume; its labels name the volume and the reason."""

from __future__ import annotations

from datetime import datetime
from typing import Any

API_GROUP = "snapshot.storage.k8s.io"
VOLUME_LABEL = "tensorplane.dev/volume"
"""The label of snapshots with the claim that they are of."""
VOLUME_GROUP_LABEL = "tensorplane.dev/snapshot-group"
"""The label of the claims of a group, and of its snapshots."""
REASON_LABEL = "tensorplane.dev/reason"
"""The label of snapshots with why they were taken."""
SCHEDULE, MANUAL, BEFORE_CHANGE = "schedule", "manual", "before-change"
"""Reasons."""
PART_OF_LABELS = {"app.kubernetes.io/part-of": "tensorplane"}


def snapshot_name(volume: str, moment: datetime, reason: str) -> str:
    """NAME-DATE-TIME in UTC. Scheduled ones end with the minute that they were due, so a retry takes the same one."""
    return f"{volume}-{moment:%Y%m%d-%H%M}" if reason == SCHEDULE else f"{volume}-{moment:%Y%m%d-%H%M%S}"


def snapshot(
    name: str, volume: str, snapshot_class: str, reason: str, *, managed_by: str = "snapshotter"
) -> dict[str, Any]:
    """The object to create."""
    labels = {VOLUME_LABEL: volume, REASON_LABEL: reason, **PART_OF_LABELS, "app.kubernetes.io/managed-by": managed_by}
    return {
        "apiVersion": f"{API_GROUP}/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": name, "labels": labels},
        "spec": {"volumeSnapshotClassName": snapshot_class, "source": {"persistentVolumeClaimName": volume}},
    }
