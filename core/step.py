"""The progress of a running task. It imports no display, so that small processes can import it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Step:
    """The progress of a running task. Thread-safe."""

    def __init__(self, name: str, show: Callable[[str], None] | None = None) -> None:
        self.name = name
        self._show = show
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._note = ""
        self._done = 0.0
        self._total = 0.0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def note(self, text: str) -> None:
        """Sets what the task is doing now, in a few words."""
        with self._lock:
            self._note = text.strip()

    def print(self, text: str) -> None:
        """Prints a line that stays, unlike a note: what a user should know about the result."""
        if self._show:
            self._show(text)

    def advance(self, done: float, total: float) -> None:
        """Sets how far it is. A total of 0 means unknown."""
        with self._lock:
            self._done, self._total = min(done, total), total

    def state(self) -> tuple[str, float, float]:
        """A consistent copy of note, done and total."""
        with self._lock:
            return self._note, self._done, self._total
