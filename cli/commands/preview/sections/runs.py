"""What happens to the runs of training jobs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.commands.preview.section import conditions, list_lines
from tensorplane.cli.output import aggregated


def terminal(report: Report, _: int) -> Iterator[Text]:
    """A line for each run."""
    yield from (Text(f"note: {line}", style="yellow") for line in aggregated.lines(report.runs, report.names))


def markdown(report: Report) -> Iterator[str]:
    """A list."""
    if report.runs:
        yield "## Training runs"
        yield from conditions(report)
        yield from list_lines(report, report.runs)
