"""The console that commands print to."""

from __future__ import annotations

import os
import sys

from rich.console import Console

_PLAIN_WIDTH = 140


def console() -> Console:
    """As wide as COLUMNS, else as the terminal; wide in a pipe or a log, where only tables are fitted."""
    piped = not sys.stdout.isatty()
    # Console itself reads COLUMNS.
    has_columns = os.environ.get("COLUMNS", "").isdigit()
    return Console(highlight=False, width=_PLAIN_WIDTH if piped and not has_columns else None, soft_wrap=piped)
