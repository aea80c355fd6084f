"""The console that commands print to."""

from __future__ import annotations

import sys

from rich.console import Console

_PLAIN_WIDTH = 140


def console() -> Console:
    """As wide as the terminal; wider in a pipe or a log, so that tables do not break words."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PLAIN_WIDTH)
