"""Snapshots of several volumes at one instant: the same requests, for a VolumeGroupSnapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from snapshotter import api, manifest
from snapshotter.retention import Snapshot

API_GROUP = "groupsnapshot.storage.k8s.io"
MEMBER = "group"
"""Why a snapshot was taken that is one of a group: retention of its own leaves it alone."""
_API = f"apis/{API_GROUP}/v1"


@dataclass(frozen=True)
class GroupApi(api.Api):
    """The API server, for snapshots of a group, whose name stands where a volume's would."""

    def take(self, name: str, volume: str, snapshot_class: str, reason: str) -> None:
        """Ask for a snapshot of every claim with the group's label."""
        labels = {manifest.VOLUME_GROUP: volume, manifest.REASON: reason, **manifest.PART_OF}
        wanted = {
            "apiVersion": f"{API_GROUP}/v1",
            "kind": "VolumeGroupSnapshot",
            "metadata": {"name": name, "labels": {**labels, "app.kubernetes.io/managed-by": "snapshotter"}},
            "spec": {
                "volumeGroupSnapshotClassName": snapshot_class,
                "source": {"selector": {"matchLabels": {manifest.VOLUME_GROUP: volume}}},
            },
        }
        self._ask(self._groups, wanted)

    def is_ready(self, name: str) -> bool:
        """Whether the bytes of all of them are safe."""
        return api.ready(self._send("GET", f"{self._groups}/{name}"))

    def finish(self, name: str, volume: str) -> None:
        """Label the snapshots that the controller made, whose names say nothing."""
        for member in self._members(name):
            source = member["spec"]["source"].get("persistentVolumeClaimName")
            labels = {
                manifest.VOLUME_GROUP: volume,
                manifest.REASON: MEMBER,
                **({manifest.VOLUME: source} if source else {}),
            }
            change = {"metadata": {"labels": {**labels, **manifest.PART_OF}}}
            self._send("PATCH", f"{self._snapshots}/{member['metadata']['name']}", change)

    def taken_on_schedule(self, volume: str) -> list[Snapshot]:
        """The group's snapshots that the schedule took and nobody is deleting."""
        query = f"labelSelector={manifest.VOLUME_GROUP}%3D{volume},{manifest.REASON}%3D{manifest.SCHEDULE}"
        items = self._send("GET", f"{self._groups}?{query}")["items"]
        found = [item for item in items if "deletionTimestamp" not in item["metadata"]]
        return [api.snapshot(item, "boundVolumeGroupSnapshotContentName") for item in found]

    def delete(self, old: Snapshot) -> None:
        """Give up a group's snapshot and its bytes: whatever stands for them says first that they may go."""
        for member in self._members(old.name):
            self._release(member)
        if old.content:
            with api.if_there():
                self._send("PATCH", f"{_API}/volumegroupsnapshotcontents/{old.content}", api.GIVE_UP)
        with api.if_there():
            self._send("DELETE", f"{self._groups}/{old.name}")

    def _release(self, member: Any) -> None:
        content = (member.get("status") or {}).get("boundVolumeSnapshotContentName")
        if content:
            with api.if_there():
                self._send("PATCH", f"{api.PATH}/volumesnapshotcontents/{content}", api.GIVE_UP)

    def _members(self, name: str) -> Iterator[Any]:
        for item in self._send("GET", self._snapshots)["items"]:
            owners = item["metadata"].get("ownerReferences") or []
            if any(owner["kind"] == "VolumeGroupSnapshot" and owner["name"] == name for owner in owners):
                yield item

    @property
    def _groups(self) -> str:
        return f"{_API}/namespaces/{self.namespace}/volumegroupsnapshots"
