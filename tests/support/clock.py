"""A clock that goes on when a test says so."""

from __future__ import annotations


class Clock:
    """Seconds, as `time.monotonic` tells them."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
