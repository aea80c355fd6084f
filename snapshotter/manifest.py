"""A VolumeSnapshot of a volume: its labels tell which volume, and why it was taken."""

from __future__ import annotations

from typing import Any

GROUP = "snapshot.storage.k8s.io"
VOLUME = "tensorplane.dev/volume"
VOLUME_GROUP = "tensorplane.dev/snapshot-group"
"""The label of the claims of a group, and of its snapshots."""
REASON = "tensorplane.dev/reason"
SCHEDULE, MANUAL, BEFORE_CHANGE = "schedule", "manual", "before-change"
PART_OF = {"app.kubernetes.io/part-of": "tensorplane"}


def snapshot(name: str, volume: str, snapshot_class: str, reason: str, *, by: str = "snapshotter") -> dict[str, Any]:
    """What is sent to the API server."""
    labels = {VOLUME: volume, REASON: reason, **PART_OF, "app.kubernetes.io/managed-by": by}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": name, "labels": labels},
        "spec": {"volumeSnapshotClassName": snapshot_class, "source": {"persistentVolumeClaimName": volume}},
    }
