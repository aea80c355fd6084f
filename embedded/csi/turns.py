"""Keeps calls that would disturb each other apart: the later one is told to come again."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from embedded.csi import refusal


class Turns:
    """Who works on which path now. Any number may read one that nobody changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed: set[Path] = set()
        self._read: Counter[Path] = Counter()

    @contextmanager
    def hold(self, changed: Path, read: Path | None = None) -> Iterator[None]:
        """For the time of a call that changes one path and reads another. A Refusal where another call is at it."""
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
