"""Waits for a condition of a measurement, with a timeout."""

from __future__ import annotations

import time
from collections.abc import Callable

from tensorplane.core.errors import UserError


def until(done: Callable[[], bool], seconds: float, problem: Callable[[], str], *, every: float = 0.5) -> None:
    """Returns when `done`, polled at an interval; after `seconds`, a UserError with the current state."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise UserError(f"{problem()} after {seconds:g} s")
        time.sleep(every)
