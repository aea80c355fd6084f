"""Processor time of everything but the measurement: too much of it invalidates a run."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from types import TracebackType

from bench import quiet
from embedded.cluster import cgroups
from embedded.instance import Instance

LIMIT = 0.15
"""Processors that others may use on average; a second idle cluster takes a tenth."""


class Others:
    """Watches one run of this process, its programs and the instance; `share`: the processors that others used."""

    def __init__(self, instance: Instance, busy: Callable[[], float] = quiet.busy_seconds) -> None:
        self._instance = instance
        self._busy = busy
        self.share = 0.0

    def __enter__(self) -> Others:
        self._began = time.monotonic()
        self._before = self._used_by_others()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.share = (self._used_by_others() - self._before) / (time.monotonic() - self._began)

    def _used_by_others(self) -> float:
        own = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        ours = sum(usage.ru_utime + usage.ru_stime for usage in own) + cgroups.processor_seconds(self._instance)
        return self._busy() - ours
