"""What made the preview fail."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from cli.commands.preview.report import Report
from cli.output.markdown import bullets


def terminal(report: Report, _: int) -> Iterator[Text]:
    """A line each."""
    yield from (Text(line, style="red") for line in report.faults)


def markdown(report: Report) -> Iterator[str]:
    """A list."""
    if report.faults:
        yield "## Faults"
        yield bullets(report.faults)
