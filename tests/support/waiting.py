"""Waiting for what must happen, on a machine of any speed and under any load."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENT_SECONDS = 500.0
"""How long anything may take that must happen. It only ends tests that fail: no test passes by being slow or quick."""


def eventually(look: Callable[[], T], seconds: float = PATIENT_SECONDS, *, about: Callable[[], object] = str) -> T:
    """What `look` finds, once it finds something. Fails after the time, with what `about` then says."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, f"not within {seconds:g} s: {about() or look}"
        time.sleep(0.1)
    return found
