"""The few requests to the API server that snapshots need, with the pod's own token."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from snapshotter import manifest
from snapshotter.manifest import GROUP, REASON, SCHEDULE, VOLUME
from snapshotter.retention import Snapshot

PATH = f"apis/{GROUP}/v1"
GIVE_UP = {"spec": {"deletionPolicy": "Delete"}}
"""The change by which the bytes go with the object."""
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_SECONDS = 30
_CONFLICT = 409
_NOT_FOUND = 404


@dataclass(frozen=True)
class Api:
    """The API server, as one service account reaches it."""

    namespace: str
    server: str = "https://kubernetes.default.svc"
    account: Path = _ACCOUNT

    def take(self, name: str, volume: str, snapshot_class: str, reason: str) -> None:
        """Ask for a snapshot. One of this name that is there already is the same one."""
        self._ask(self._snapshots, manifest.snapshot(name, volume, snapshot_class, reason))

    def is_ready(self, name: str) -> bool:
        """Whether the bytes of a snapshot are safe."""
        return ready(self._send("GET", f"{self._snapshots}/{name}"))

    def finish(self, name: str, volume: str) -> None:
        """What is left to do with one that is ready."""

    def taken_on_schedule(self, volume: str) -> list[Snapshot]:
        """The volume's snapshots that the schedule took and nobody is deleting."""
        query = f"labelSelector={VOLUME}%3D{volume},{REASON}%3D{SCHEDULE}"
        items = self._send("GET", f"{self._snapshots}?{query}")["items"]
        return [snapshot(item) for item in items if "deletionTimestamp" not in item["metadata"]]

    def delete(self, old: Snapshot) -> None:
        """Give up a snapshot and its bytes: the class retains them until its content says otherwise."""
        if old.content:
            with if_there():
                self._send("PATCH", f"{PATH}/volumesnapshotcontents/{old.content}", GIVE_UP)
        with if_there():
            self._send("DELETE", f"{self._snapshots}/{old.name}")

    @property
    def _snapshots(self) -> str:
        return f"{PATH}/namespaces/{self.namespace}/volumesnapshots"

    def _ask(self, path: str, wanted: Any) -> None:
        try:
            self._send("POST", path, wanted)
        except urllib.error.HTTPError as error:
            if error.code != _CONFLICT:
                raise

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        # Read each time: the token is renewed while the pod runs.
        headers = {"Authorization": f"Bearer {(self.account / 'token').read_text()}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/merge-patch+json" if method == "PATCH" else "application/json"
        data = None if body is None else json.dumps(body).encode()
        # The address is ours, and always https.
        request = urllib.request.Request(f"{self.server}/{path}", data, headers, method=method)  # noqa: S310
        trust = ssl.create_default_context(cafile=str(self.account / "ca.crt"))
        with urllib.request.urlopen(request, timeout=_SECONDS, context=trust) as answer:  # noqa: S310
            return json.load(answer)


@contextmanager
def if_there() -> Iterator[None]:
    """What somebody else has deleted meanwhile is deleted."""
    try:
        yield
    except urllib.error.HTTPError as error:
        if error.code != _NOT_FOUND:
            raise


def ready(item: Any) -> bool:
    """Whether the driver says so."""
    return bool((item.get("status") or {}).get("readyToUse"))


def snapshot(item: Any, content: str = "boundVolumeSnapshotContentName") -> Snapshot:
    """What retention needs to know of an object."""
    metadata, status = item["metadata"], item.get("status") or {}
    # The driver's own time is the one of the bytes.
    taken = datetime.fromisoformat(status.get("creationTime") or metadata["creationTimestamp"])
    return Snapshot(metadata["name"], taken, ready(item), status.get(content))
