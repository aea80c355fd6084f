"""Free space of the disk that holds a pool: the pool's file is sparse, and its filesystem does not see the disk fill.

If its file cannot grow, btrfs loses pending writes and becomes read-only. So a reserve is kept: below it, nothing is
created, and volumes cannot grow until space is freed.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from tensorplane.embedded.csi import mounts, refusal

RESERVE = 1 << 30
MIB = 1 << 20


def free_bytes(pool: Path) -> int:
    """Free bytes of the disk, less those in memory that are still to be written to some disk."""
    found = os.statvfs(disk(pool))
    return found.f_bavail * found.f_frsize - _unwritten()


def check(pool: Path, more: int = 0) -> None:
    """Refuses a call that would use the disk's reserve. `more`: bytes that the call takes."""
    free = free_bytes(pool)
    if free < RESERVE + more:
        taken = f", and this would take {more // MIB} MiB" if more else ""
        raise refusal.full(
            f"{disk(pool)}: the disk has {max(free, 0) // MIB} MiB left, but {RESERVE // MIB} MiB are "
            f"reserved{taken}; free some space"
        )


@cache  # a pool is mounted before its driver starts, and stays mounted
def disk(pool: Path) -> Path:
    """A folder of the disk that holds the pool: for a loop device, that of its file."""
    mount = mounts.at(pool)
    if mount and mount.source.startswith("/dev/loop"):
        behind = Path("/sys/block") / Path(mount.source).name / "loop" / "backing_file"
        return Path(behind.read_text().rstrip("\n")).parent
    return pool


def _unwritten() -> int:
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    return sum(int(line[1]) << 10 for line in lines if line[0] in ("Dirty:", "Writeback:"))
