"""How much the disk under a pool has left: the pool's file is sparse, and its filesystem cannot see the disk fill.

btrfs on a file that cannot grow loses what it was about to write and turns read-only. So a reserve is kept: below it
nothing new is made, and volumes take no more than they have, until there is room again.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from embedded.csi import mounts, refusal, watching

if TYPE_CHECKING:
    from embedded.csi.records import Volume
    from embedded.csi.store import Store

RESERVE = 1 << 30
_AGAIN = RESERVE // 4
"""How much above the reserve it must be before volumes may grow again, so that they do not stop and go."""
_LOOK_SECONDS = 1.0
_MIB = 1 << 20


def left(pool: Path) -> int:
    """Bytes that the disk has, without those that are in memory still and need a place on some disk."""
    found = os.statvfs(_disk(pool))
    return found.f_bavail * found.f_frsize - _unwritten()


def need(pool: Path, more: int = 0) -> None:
    """Refuses what would take the disk's reserve."""
    room = left(pool)
    if room < RESERVE + more:
        wanted = f"{RESERVE // _MIB} MiB are kept" + (f" and this takes {more // _MIB} MiB" if more else "")
        raise refusal.full(f"{_disk(pool)}: the disk has {max(room, 0) // _MIB} MiB left, {wanted}: make room there")


@cache  # a pool is mounted before its driver starts, and stays
def _disk(pool: Path) -> Path:
    mount = mounts.at(pool)
    if mount and mount.source.startswith("/dev/loop"):
        behind = Path("/sys/block") / Path(mount.source).name / "loop" / "backing_file"
        return Path(behind.read_text().rstrip("\n")).parent
    return pool


def _unwritten() -> int:
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    return sum(int(line[1]) << 10 for line in lines if line[0] in ("Dirty:", "Writeback:"))


class Guard:
    """Stops volumes from growing while the disk has no room, and says so."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stopped = False
        self._limited: set[Volume] = set()

    def look(self) -> None:
        """Compares, and changes every volume's limit where that is another than at the last look."""
        room = left(self._store.pool)
        stopped = room < RESERVE + (_AGAIN if self._stopped else 0)
        if not stopped and not self._stopped:
            return
        # Between both marks some are made and grown, each with its whole size as its limit.
        wanted = [one for one in self._store.all_volumes() if not stopped or one not in self._limited]
        done = [self._limit(one, stopped=stopped) for one in wanted]
        if not all(done) or stopped == self._stopped:
            return
        self._stopped = stopped
        what = "volumes grow no more until there is room" if stopped else "volumes may grow again"
        print(f"{_disk(self._store.pool)}: the disk has {room // _MIB} MiB left, {what}", flush=True)

    def _limit(self, volume: Volume, *, stopped: bool) -> bool:
        """Whether it was the volume's turn; the next look sees to one that is being deleted or grown."""
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
        """Looks again and again."""
        watching.watch(self.look, _LOOK_SECONDS, ended)
