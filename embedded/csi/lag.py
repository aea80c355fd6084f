"""How far the second pool is behind: of each volume that is mirrored, or was, the newest copy."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from embedded.csi.records import Snapshot, Volume
from embedded.csi.store import Store


@dataclass(frozen=True)
class Lag:
    """One volume and its newest copy."""

    volume: Volume
    copy: Snapshot | None

    @property
    def is_due(self) -> bool:
        """Whether a copy is to be made now."""
        every = self.volume.mirror_seconds * 1_000_000_000
        return bool(every) and (self.copy is None or time.time_ns() - self.copy.created >= every)

    @property
    def copied_at(self) -> str | None:
        """When the volume was as the copy is, as Kubernetes writes times."""
        if self.copy is None:
            return None
        return datetime.fromtimestamp(self.copy.created // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def lags(store: Store, mirror: Store) -> list[Lag]:
    """Of each volume of the first pool that is mirrored now or has a copy, the oldest volume first."""
    copies = {copy.volume: copy for copy in mirror.all_snapshots()}
    found = (Lag(volume, copies.get(volume.id)) for volume in store.all_volumes())
    return [lag for lag in found if lag.volume.mirror_seconds or lag.copy]
