"""Snapshots of several volumes at one instant: the same requests, for a VolumeGroupSnapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..api import NOT_FOUND, tolerate
from . import manifest
from .retention import Snapshot
from .volume_snapshots import DELETE_CONTENT, PATH, VolumeSnapshots, is_ready, read_snapshot

API_GROUP = "groupsnapshot.storage.k8s.io"
MEMBER = "group"
"""The reason of a snapshot that belongs to a group; the schedule of its volume does not delete it."""
_API = f"apis/{API_GROUP}/v1"


@dataclass(frozen=True)
class VolumeGroupSnapshots(VolumeSnapshots):
    """The VolumeGroupSnapshots of a namespace. A group's name stands where a volume's would."""

    def take(self, name: str, volume: str, snapshot_class: str, reason: str) -> None:
        """Creates a snapshot of every claim with the group's label."""
        labels = {manifest.VOLUME_GROUP_LABEL: volume, manifest.REASON_LABEL: reason, **manifest.PART_OF_LABELS}
        wanted = {
            "apiVersion": f"{API_GROUP}/v1",
            "kind": "VolumeGroupSnapshot",
            "metadata": {"name": name, "labels": {**labels, "app.kubernetes.io/managed-by": "snapshotter"}},
            "spec": {
                "volumeGroupSnapshotClassName": snapshot_class,
                "source": {"selector": {"matchLabels": {manifest.VOLUME_GROUP_LABEL: volume}}},
            },
        }
        self._create(self._groups, wanted)

    def is_ready(self, name: str) -> bool:
        """Whether the bytes of all of them are safe."""
        return is_ready(self.api.send("GET", f"{self._groups}/{name}"))

    def finish(self, name: str, volume: str) -> None:
        """Labels the snapshots that the controller created: their names do not tell the volume."""
        for member in self._members(name):
            source = member["spec"]["source"].get("persistentVolumeClaimName")
            labels = {
                manifest.VOLUME_GROUP_LABEL: volume,
                manifest.REASON_LABEL: MEMBER,
                **({manifest.VOLUME_LABEL: source} if source else {}),
            }
            change = {"metadata": {"labels": {**labels, **manifest.PART_OF_LABELS}}}
            self.api.send("PATCH", f"{self._snapshots}/{member['metadata']['name']}", change)

    def taken_on_schedule(self, volume: str) -> list[Snapshot]:
        """The group's scheduled snapshots, without those that are being deleted."""
        query = f"labelSelector={manifest.VOLUME_GROUP_LABEL}%3D{volume},{manifest.REASON_LABEL}%3D{manifest.SCHEDULE}"
        items = self.api.send("GET", f"{self._groups}?{query}")["items"]
        found = [item for item in items if "deletionTimestamp" not in item["metadata"]]
        return [read_snapshot(item, "boundVolumeGroupSnapshotContentName") for item in found]

    def is_one_of(self, old: Snapshot, names: Sequence[str]) -> bool:
        """Whether one of its members is among these. The controller names the members."""
        return bool(names) and any(member["metadata"]["name"] in names for member in self._members(old.name))

    def delete(self, old: Snapshot) -> None:
        """Deletes a group's snapshot and its bytes: first every content gets the policy `Delete`."""
        for member in self._members(old.name):
            self._release(member)
        if old.content:
            with tolerate(NOT_FOUND):
                self.api.send("PATCH", f"{_API}/volumegroupsnapshotcontents/{old.content}", DELETE_CONTENT)
        with tolerate(NOT_FOUND):
            self.api.send("DELETE", f"{self._groups}/{old.name}")

    def _release(self, member: Any) -> None:
        content = (member.get("status") or {}).get("boundVolumeSnapshotContentName")
        if content:
            with tolerate(NOT_FOUND):
                self.api.send("PATCH", f"{PATH}/volumesnapshotcontents/{content}", DELETE_CONTENT)

    def _members(self, name: str) -> Iterator[Any]:
        for item in self.api.send("GET", self._snapshots)["items"]:
            owners = item["metadata"].get("ownerReferences") or []
            if any(owner["kind"] == "VolumeGroupSnapshot" and owner["name"] == name for owner in owners):
                yield item

    @property
    def _groups(self) -> str:
        return f"{_API}/namespaces/{self.namespace}/volumegroupsnapshots"
