"""What keeps the data of volumes that would be deleted or replaced."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from cli.commands.preview.report import Report
from cli.output.markdown import bullets


def terminal(report: Report, _: int) -> Iterator[Text]:
    """A line for each volume."""
    yield from (Text(f"note: {line}", style="yellow") for line in report.data)


def markdown(report: Report) -> Iterator[str]:
    """A list."""
    if report.data:
        yield "## What keeps data"
        yield bullets(report.data)
