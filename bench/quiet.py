"""An idle machine: waits for one, and measures what other programs take, since too much of it distorts the figures."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from tensorplane.core.errors import UserError
from tensorplane.embedded.cluster import cgroups
from tensorplane.embedded.instance import Instance

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


OTHERS_LIMIT = 0.15
"""Processors that other programs may use on average; a second idle cluster takes a tenth."""


class OtherPrograms:
    """Watches one run of this process, its programs and the instance; `share`: the processors that others used."""

    def __init__(self, instance: Instance, busy: Callable[[], float] = busy_seconds) -> None:
        self._instance = instance
        self._busy = busy
        self.share = 0.0

    def __enter__(self) -> OtherPrograms:
        self._began = time.monotonic()
        self._before = self._used_by_others()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.share = (self._used_by_others() - self._before) / (time.monotonic() - self._began)

    def _used_by_others(self) -> float:
        own = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        ours = sum(usage.ru_utime + usage.ru_stime for usage in own) + cgroups.processor_seconds(self._instance)
        return self._busy() - ours
