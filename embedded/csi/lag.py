"""The lag of mirrors: the newest copy of each volume that is or was mirrored."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from tensorplane.embedded.csi.records import Snapshot, Volume
from tensorplane.embedded.csi.store import Store


@dataclass(frozen=True)
class Lag:
    """One volume and its newest copy."""

    volume: Volume
    copy: Snapshot | None

    @property
    def is_due(self) -> bool:
        """Whether a copy is due now."""
        every = self.volume.mirror_seconds * 1_000_000_000
        return bool(every) and (self.copy is None or time.time_ns() - self.copy.created >= every)

    @property
    def copied_at(self) -> str | None:
        """The point in time of the copy, as Kubernetes writes times."""
        if self.copy is None:
            return None
        return datetime.fromtimestamp(self.copy.created // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def lags(store: Store, mirror: Store) -> list[Lag]:
    """The lag of each volume in the first pool that is mirrored or has a copy, the oldest volume first."""
    copies = {copy.volume: copy for copy in mirror.all_snapshots()}
    found = (Lag(volume, copies.get(volume.id)) for volume in store.all_volumes())
    return [lag for lag in found if lag.volume.mirror_seconds or lag.copy]
