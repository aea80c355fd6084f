"""Which snapshots of a volume have expired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

GIVE_UP = timedelta(days=2)
"""Age at which a snapshot that never became ready is deleted."""
AT_MOST_WAITING = 24
"""Limit of snapshots that are not ready yet, however many the schedule keeps."""


@dataclass(frozen=True)
class Snapshot:
    """A snapshot that the schedule took."""

    name: str
    taken: datetime
    ready: bool
    content: str | None = None
    """Its VolumeSnapshotContent, or VolumeGroupSnapshotContent."""


def never_ready(snapshots: Sequence[Snapshot], *, keep: int) -> list[Snapshot]:
    """The newest snapshots, as many as the schedule keeps, if none of them is ready; empty otherwise."""
    limit = min(keep, AT_MOST_WAITING)
    newest = sorted(snapshots, key=lambda one: (one.taken, one.name), reverse=True)[:limit]
    return [] if len(newest) < limit or any(one.ready for one in newest) else newest


def expired(snapshots: Sequence[Snapshot], now: datetime, *, keep: int, expire: timedelta | None) -> list[Snapshot]:
    """The snapshots to delete, the oldest first. The newest that is ready stays, whatever its age."""
    ready = sorted((one for one in snapshots if one.ready), key=lambda one: (one.taken, one.name), reverse=True)
    if not ready:
        return []
    older = [one for position, one in enumerate(ready) if position >= keep or _aged(one, now, expire)]
    failed = [one for one in snapshots if not one.ready and _aged(one, now, GIVE_UP)]
    return sorted((one for one in (*older, *failed) if one is not ready[0]), key=lambda one: (one.taken, one.name))


def _aged(one: Snapshot, now: datetime, limit: timedelta | None) -> bool:
    return limit is not None and now - one.taken > limit
