"""Data that the update deletes, replaces or leaves unprotected."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tensorplane.cli.commands.preview import dataset_folders, mounts
from tensorplane.cli.commands.preview.head import Block
from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.commands.preview.sections import effects
from tensorplane.cli.output import aggregated
from tensorplane.cli.output.texts import bold


def terminal(report: Report, _: int) -> Iterator[Text]:
    """A line for each risk."""
    yield from (Text(f"note: {line}", style="yellow") for line in _lost(report))
    for risk in reversed(report.risks):
        word, style = ("data at risk", "bold red") if risk.stops_update else ("note", "yellow")
        yield Text(f"{word}: {risk.text}", style=style)


def head(report: Report) -> Iterator[Block]:
    """A list, what stops the update in bold."""
    lines = [bold(risk.text) if risk.stops_update else risk.text for risk in report.risks]
    if lines := aggregated.lines([*lines, *_lost(report)], report.names):
        yield Block("Data at risk", lines, is_list=True)


def _lost(report: Report) -> Iterator[str]:
    yield from (f"{each} is no longer protected: a later update can delete it" for each in report.unprotected)
    yield from mounts.lost(report)
    yield from dataset_folders.lost(report)
    yield from effects.lost(report.changes)
