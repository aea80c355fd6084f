"""What a running task reports to. It imports no display, so that small processes may import it."""

from __future__ import annotations

import threading
import time


class Step:
    """What a running task reports to. Any thread may call it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._note = ""
        self._done = 0.0
        self._total = 0.0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def note(self, text: str) -> None:
        """Says what is happening right now, in a few words."""
        with self._lock:
            self._note = text.strip()

    def advance(self, done: float, total: float) -> None:
        """Says how far it is. A total of 0 means that it is not known."""
        with self._lock:
            self._done, self._total = min(done, total), total

    def state(self) -> tuple[str, float, float]:
        """Note, done and total as they are at one moment."""
        with self._lock:
            return self._note, self._done, self._total
