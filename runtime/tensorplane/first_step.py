"""Notes whether training has come to its first step, for the launcher that stands in front of the command."""

from __future__ import annotations

import os
from pathlib import Path

_STEPS = "TENSORPLANE_STEPS"


def expected() -> None:
    """There will be steps, and this process will say when the first is done."""
    _note("expected")


def done() -> None:
    """From here on, a failure may be one that a restart helps."""
    _note("done")


def _note(state: str) -> None:
    if path := os.environ.get(_STEPS):
        Path(path).write_text(state)
