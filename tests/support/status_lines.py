"""What `make status` prints of an embedded cluster."""

from __future__ import annotations

import io

from rich.console import Console

from tensorplane.driver import status
from tensorplane.embedded.instance import Instance


def status_lines(instance: Instance) -> list[list[str]]:
    """The words of each line."""
    drawn = io.StringIO()
    Console(width=160, file=drawn).print(status.report_embedded(instance))
    return [line.split() for line in drawn.getvalue().splitlines()]
