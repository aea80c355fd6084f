"""The console that commands print to."""

from __future__ import annotations

import sys

from rich.console import Console

_PLAIN_WIDTH = 140


def console() -> Console:
    """As wide as the terminal. In a pipe or a log, where there is no width, tables need not break words."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PLAIN_WIDTH)
