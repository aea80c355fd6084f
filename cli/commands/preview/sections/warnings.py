"""Warnings of the engine and the providers."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.commands.preview.section import list_lines


def terminal(report: Report, _: int) -> Iterator[Text]:
    """A line each."""
    yield from (Text(f"warning: {line}", style="yellow") for line in report.warnings)


def markdown(report: Report) -> Iterator[str]:
    """A list."""
    if report.warnings:
        yield "## Warnings"
        yield from list_lines(report, report.warnings)
