"""Waits for what a figure needs, and not for ever."""

from __future__ import annotations

import time
from collections.abc import Callable

from embedded.fault import Fault


def until(done: Callable[[], bool], seconds: float, fault: Callable[[], str], *, every: float = 0.5) -> None:
    """Returns when `done`, asked every so many seconds; after `seconds`, a Fault with what is so then."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise Fault(f"{fault()} after {seconds:g} s")
        time.sleep(every)
