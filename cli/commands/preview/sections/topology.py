"""A reference to the picture of the stack, which lies beside the report."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from tensorplane.cli.commands.preview.report import Report


def terminal(report: Report, _: int) -> Iterator[str]:
    """Nothing: the command names the file."""
    yield from ()


def markdown(report: Report) -> Iterator[str]:
    """The picture, if it was written."""
    if report.picture:
        yield "## Topology"
        yield f"![Node groups, queues, workloads and volumes, and what changes of them]({quote(report.picture)})"
