"""Waits for an idle machine: other programs would distort the figures."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from core.errors import UserError

LOAD_LIMIT = 1.5
_PATIENCE_SECONDS = 600.0
_IDLE_SHARE = 0.8
_LOOK_SECONDS = 3.0


def wait_for_low_load(
    load: Callable[[], float] = lambda: os.getloadavg()[0],
    sleep: Callable[[float], None] = time.sleep,
    patience: float = _PATIENCE_SECONDS,
) -> float:
    """The load average of the last minute, once it is low. A UserError if it stays high: figures would be invalid."""
    for _ in range(int(patience // 5)):
        if load() <= LOAD_LIMIT:
            return load()
        sleep(5)
    raise UserError(
        f"this machine is busy: load {load():.1f} for {patience / 60:.0f} minutes, more than {LOAD_LIMIT}; "
        "stop other programs (make down) and measure again"
    )


def wait_for_idle_processors(patience: float = _PATIENCE_SECONDS) -> None:
    """Returns when the processors are mostly idle, that is, when new processes have settled."""
    allowed = (1 - _IDLE_SHARE) * (os.cpu_count() or 1) * _LOOK_SECONDS
    end = time.monotonic() + patience
    while time.monotonic() < end:
        before = busy_seconds()
        time.sleep(_LOOK_SECONDS)
        if busy_seconds() - before <= allowed:
            return
    raise UserError(f"this machine is busy: its processors were never {_IDLE_SHARE:.0%} idle in {patience:.0f} s")


def busy_seconds() -> float:
    """The busy and idle time of all processors since the machine started, in seconds."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle, waiting_for_disks = ticks[3], ticks[4]
    return (sum(ticks) - idle - waiting_for_disks) / os.sysconf("SC_CLK_TCK")
