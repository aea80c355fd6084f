"""Copies volumes into a second pool, where each copy is a snapshot that a driver there restores like its own.

Between two btrfs pools, only the changes since the last copy are sent. Each copy is made from a snapshot, so it is
consistent, and appears in the second pool complete or not at all.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable

from tensorplane.embedded.csi import capacity, records, watching
from tensorplane.embedded.csi.lag import Lag, lags
from tensorplane.embedded.csi.records import Snapshot, Volume, identifier
from tensorplane.embedded.csi.store import Store
from tensorplane.embedded.csi.transfer import transfer

_HELD = ".mirror-"
_LOOK_SECONDS = 1.0


class Mirror:
    """Copies volumes from one pool to another."""

    def __init__(self, store: Store, target: Store, keep: int = 2) -> None:
        self._store, self._target, self._keep = store, target, keep
        self._one_at_a_time = threading.RLock()

    def last(self, volume: str) -> Snapshot | None:
        """The newest copy of a volume, with its point in time."""
        return next(iter(self._copies(volume)), None)

    def copy(self, volume: Volume) -> Snapshot:
        """Copies a volume's current content, and deletes the oldest copies."""
        with self._one_at_a_time:
            self.clean()
            created = time.time_ns()
            name = f"{volume.id}-{created}"
            folder = self._store.path(volume)
            used = self._store.storage.usage(folder)
            made = Snapshot(identifier(name), name, volume.size, created, volume.id, volume.claim, used)
            held, last = self._store.snapshots / f"{_HELD}{made.id}", self.last(volume.id)
            base = held.with_name(f"{_HELD}{last.id}") if last else None
            since = base if base and base.exists() else None
            # The size of an incremental copy is unknown; a full copy takes what the volume uses.
            capacity.check(self._target.pool, 0 if since else used or 0)
            self._store.storage.copy(folder, held, read_only=True)
            arrived = transfer(self._store, self._target, held, self._target.snapshots, since)
            path = arrived.with_name(made.id)
            records.write(path.with_name(f"{made.id}.json"), made)
            arrived.rename(path)
            records.keep(path.parent)
            for old in self._copies(volume.id)[self._keep :]:
                self._target.delete_snapshot(old.id)
            self.clean()
            return made

    def clean(self) -> None:
        """Deletes what a killed copy left, and snapshots that no later copy will be based on.

        The base snapshot of a volume that was deleted, or is no longer mirrored, would occupy its former space.
        """
        with self._one_at_a_time:
            pools = self._store, self._target
            found = [(store, left) for store in pools for left in store.snapshots.glob(f"{_HELD}*")]
            known = lags(*pools) if found else []
            needed = {f"{_HELD}{lag.copy.id}" for lag in known if lag.copy and lag.volume.mirror_seconds}
            for store, left in found:
                if store is self._target or left.name not in needed:
                    store.storage.delete(left)

    def _copies(self, volume: str) -> list[Snapshot]:
        """Copies of a volume, the newest first."""
        return [one for one in reversed(self._target.all_snapshots()) if one.volume == volume]


class Schedule:
    """Copies each mirrored volume at its interval, and publishes the age of the copies."""

    def __init__(self, store: Store, target: Store, say: Callable[[list[Lag]], None]) -> None:
        self._store, self._target, self._say = store, target, say
        self._mirror = Mirror(store, target)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops after the current copy."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        # A failed copy is retried; meanwhile the age of the newest copy grows.
        watching.watch(self._look, _LOOK_SECONDS, self._ended)

    def _look(self) -> None:
        self._say(self._copy_what_is_due())
        self._mirror.clean()

    def _copy_what_is_due(self) -> list[Lag]:
        found = lags(self._store, self._target)
        due = [lag.volume for lag in found if lag.is_due]
        for volume in due:
            if self._ended.is_set():
                return found
            try:
                self._mirror.copy(volume)
            except Exception:  # the other volumes follow
                traceback.print_exc()
        return lags(self._store, self._target) if due else found
