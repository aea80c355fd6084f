"""Prevents concurrent calls on the same path: the later one is refused with ABORTED, and its caller retries."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tensorplane.embedded.csi import refusal


class PathLocks:
    """The paths in use. Any number of calls may read a path that none changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed: set[Path] = set()
        self._read: Counter[Path] = Counter()

    @contextmanager
    def hold(self, changed: Path, read: Path | None = None) -> Iterator[None]:
        """Reserves one path for a change and another for reading. A Refusal if another call is using them."""
        with self._lock:
            if changed in self._changed or self._read[changed] or read in self._changed:
                raise refusal.busy(f"{changed.name}: another call is using it or its source; retry")
            self._changed.add(changed)
            if read:
                self._read[read] += 1
        try:
            yield
        finally:
            with self._lock:
                self._changed.discard(changed)
                if read:
                    self._read[read] -= 1
