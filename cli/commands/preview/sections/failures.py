"""What made the preview fail."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tensorplane.cli.commands.preview.head import Block
from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.output import aggregated


def terminal(report: Report, _: int) -> Iterator[Text]:
    """A line each."""
    yield from (Text(line, style="red") for line in report.errors)


def head(report: Report) -> Iterator[Block]:
    """A list."""
    if report.errors:
        yield Block("Faults", aggregated.lines(report.errors, report.names), is_list=True)
