"""Pipelines that change: their stages as a picture, which lies beside the report, and what becomes of each in words."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from rich.text import Text

from tensorplane.cli.commands.preview import stages
from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.commands.preview.section import list_lines


def terminal(report: Report, _: int) -> Iterator[Text]:
    """A line for each stage that changes."""
    yield from (Text(line) for line in stages.words(report))


def markdown(report: Report) -> Iterator[str]:
    """The picture, if it was written, and a list."""
    if found := stages.words(report):
        yield "## Pipelines"
        if report.pipelines:
            yield f"![The stages of pipelines that change, and what becomes of each]({quote(report.pipelines)})"
        yield from list_lines(report, found)
