"""Stops volumes from growing while the disk of their pool is nearly full, and lets them grow again."""

from __future__ import annotations

import threading

from tensorplane.embedded.csi import capacity, refusal, watching
from tensorplane.embedded.csi.records import Volume
from tensorplane.embedded.csi.store import Store

_RESUME_BYTES = capacity.RESERVE // 4
"""How much more than the reserve must be free before volumes can grow again, to avoid flapping."""
_LOOK_SECONDS = 1.0


class Guard:
    """Stops volumes from growing while the disk is nearly full, and logs it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stopped = False
        self._limited: set[Volume] = set()

    def look(self) -> None:
        """Checks the free space, and changes the volumes' limits if the state changed."""
        free = capacity.free_bytes(self._store.pool)
        stopped = free < capacity.RESERVE + (_RESUME_BYTES if self._stopped else 0)
        if not stopped and not self._stopped:
            return
        # Between the two thresholds, volumes may have been created or expanded, with their full size as their limit.
        wanted = [one for one in self._store.all_volumes() if not stopped or one not in self._limited]
        done = [self._limit(one, stopped=stopped) for one in wanted]
        if not all(done) or stopped == self._stopped:
            return
        self._stopped = stopped
        what = "volumes cannot grow until space is freed" if stopped else "volumes can grow again"
        print(f"{capacity.disk(self._store.pool)}: the disk has {free // capacity.MIB} MiB left, {what}", flush=True)

    def _limit(self, volume: Volume, *, stopped: bool) -> bool:
        """Whether the limit was set; a volume that another call is deleting or expanding is retried."""
        try:
            self._store.let_grow(volume.id, grows=not stopped)
        except refusal.Refusal:
            return False
        if stopped:
            self._limited.add(volume)
        else:
            self._limited.discard(volume)
        return True

    def watch(self, ended: threading.Event) -> None:
        """Repeats the check."""
        watching.watch(self.look, _LOOK_SECONDS, ended)
