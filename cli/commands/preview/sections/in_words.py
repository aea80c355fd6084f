"""What changes, in the words of a review: a line for each node group, volume, queue and workload."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from cli.commands.preview import dataset_folders, flavors, limits, mounts, words
from cli.commands.preview.report import Report
from cli.commands.preview.section import conditions, listed
from cli.output import alike
from cli.output.texts import parts


def lines(report: Report) -> list[str]:
    """Names are in bold."""
    return [
        *words.lines(report),
        *mounts.lines(report),
        *dataset_folders.lines(report),
        *flavors.lines(report),
        *limits.lines(report),
    ]


def terminal(report: Report, _: int) -> Iterator[Text]:
    """A line each, with the names in bold."""
    for line in alike.lines(lines(report), report.names):
        yield Text.assemble(*((part, "bold" if is_bold else "") for part, is_bold in parts(line)))


def markdown(report: Report) -> Iterator[str]:
    """A list."""
    if found := lines(report):
        yield "## What changes"
        yield from conditions(report)
        yield from listed(report, found)
