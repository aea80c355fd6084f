"""Records which step training has completed, for the launcher of the command."""

from __future__ import annotations

import os
from pathlib import Path

_STEPS = "TENSORPLANE_STEPS"


def expected() -> None:
    """Record that this process will report its first step."""
    _note("expected")


def done(step: int | None = None) -> None:
    """Record a completed step; from the first on, a restart may help after a failure.

    `step` is its number in the whole run: a failure that comes back at the same one is a poison step (`failures.py`).
    """
    _note("done" if step is None else f"done {step}")


def _note(state: str) -> None:
    if path := os.environ.get(_STEPS):
        Path(path).write_text(state)
