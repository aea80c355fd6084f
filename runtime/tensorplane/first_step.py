"""Records whether training has completed its first step, for the launcher of the command."""

from __future__ import annotations

import os
from pathlib import Path

_STEPS = "TENSORPLANE_STEPS"


def expected() -> None:
    """Record that this process will report its first step."""
    _note("expected")


def done() -> None:
    """Record the first step; from here on, a restart may help after a failure."""
    _note("done")


def _note(state: str) -> None:
    if path := os.environ.get(_STEPS):
        Path(path).write_text(state)
