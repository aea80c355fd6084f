"""VolumeSnapshots of one volume: the requests to the API server that a schedule needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..api import CONFLICT, NOT_FOUND, ApiServer, tolerate
from . import manifest
from .manifest import API_GROUP, REASON_LABEL, SCHEDULE, VOLUME_LABEL
from .retention import Snapshot

PATH = f"apis/{API_GROUP}/v1"
DELETE_CONTENT = {"spec": {"deletionPolicy": "Delete"}}
"""The change of a content by which its bytes are deleted with it."""


@dataclass(frozen=True)
class VolumeSnapshots:
    """The VolumeSnapshots of a namespace."""

    namespace: str
    api: ApiServer = field(default_factory=ApiServer)

    def take(self, name: str, volume: str, snapshot_class: str, reason: str) -> None:
        """Creates a snapshot. An existing one of this name is the same snapshot."""
        self._create(self._snapshots, manifest.snapshot(name, volume, snapshot_class, reason))

    def is_ready(self, name: str) -> bool:
        """Whether the bytes of a snapshot are safe."""
        return is_ready(self.api.send("GET", f"{self._snapshots}/{name}"))

    def finish(self, name: str, volume: str) -> None:
        """Completes a snapshot that is ready."""

    def taken_on_schedule(self, volume: str) -> list[Snapshot]:
        """The volume's scheduled snapshots, without those that are being deleted."""
        query = f"labelSelector={VOLUME_LABEL}%3D{volume},{REASON_LABEL}%3D{SCHEDULE}"
        items = self.api.send("GET", f"{self._snapshots}?{query}")["items"]
        return [read_snapshot(item) for item in items if "deletionTimestamp" not in item["metadata"]]

    def is_one_of(self, old: Snapshot, names: Sequence[str]) -> bool:
        """Whether it is, or contains, one of these VolumeSnapshots."""
        return old.name in names

    def delete(self, old: Snapshot) -> None:
        """Deletes a snapshot and its bytes, which the class retains until the content says `Delete`."""
        if old.content:
            with tolerate(NOT_FOUND):
                self.api.send("PATCH", f"{PATH}/volumesnapshotcontents/{old.content}", DELETE_CONTENT)
        with tolerate(NOT_FOUND):
            self.api.send("DELETE", f"{self._snapshots}/{old.name}")

    @property
    def _snapshots(self) -> str:
        return f"{PATH}/namespaces/{self.namespace}/volumesnapshots"

    def _create(self, path: str, wanted: Any) -> None:
        with tolerate(CONFLICT):
            self.api.send("POST", path, wanted)


def is_ready(item: Any) -> bool:
    """Whether the driver reports the snapshot as ready."""
    return bool((item.get("status") or {}).get("readyToUse"))


def read_snapshot(item: Any, content: str = "boundVolumeSnapshotContentName") -> Snapshot:
    """What retention needs of a VolumeSnapshot or VolumeGroupSnapshot."""
    metadata, status = item["metadata"], item.get("status") or {}
    # The driver's time is that of the bytes.
    taken = datetime.fromisoformat(status.get("creationTime") or metadata["creationTimestamp"])
    return Snapshot(metadata["name"], taken, is_ready(item), status.get(content))
