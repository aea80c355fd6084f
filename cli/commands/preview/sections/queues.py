"""The queues: which flavors each gets, before and after the update."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from rich.console import RenderableType

from tensorplane.cli.commands.preview.report import Outputs, Report
from tensorplane.cli.commands.tiers import drawing, tables
from tensorplane.cli.commands.tiers.rows import flavors, tiers
from tensorplane.cli.output.markdown import details, fenced, full_table, table
from tensorplane.components.base import outputs

_UNIT = "one block is 1 GPU or core"
_MOST_OPEN_QUEUES = 20
"""Queues whose tables and drawing a click opens, if they are more."""
_DRAWING_WIDTH = 110
"""Characters of the drawing in Markdown."""


def before(report: Report) -> dict[str, outputs.Queue]:
    """The deployed queues."""
    return _complete({name: old for name, (old, _) in report.registered("Queue").items()})


def after(report: Report) -> dict[str, outputs.Queue]:
    """The queues after the update."""
    return _complete({name: new for name, (_, new) in report.registered("Queue").items()})


def _complete(queues: Mapping[str, Outputs]) -> dict[str, outputs.Queue]:
    """Without those of version 0.1.0, which did not register the flavors."""
    return {name: cast(outputs.Queue, queue) for name, queue in queues.items() if "machines" in queue}


def terminal(report: Report, width: int) -> Iterator[RenderableType]:
    """Tables and the drawing."""
    old, new = before(report), after(report)
    if old or new:
        yield tables.render(tiers(new), flavors(new), width, before=tiers(old), had=flavors(old))
        yield ""


def markdown(report: Report) -> Iterator[str]:
    """Tables and the drawing; closed if no queue changes."""
    old, new = before(report), after(report)
    if not (old or new):
        return
    yield "## Queues"
    if old == new:
        yield from details("Unchanged", _blocks(old, new))
    elif len({*old, *new}) > _MOST_OPEN_QUEUES:
        yield from details(f"{len({*old, *new})} queues", _blocks(old, new))
    else:
        yield from _blocks(old, new)


def _blocks(old: Mapping[str, outputs.Queue], new: Mapping[str, outputs.Queue]) -> Iterator[str]:
    planned = tiers(new)
    yield full_table(tables.HEADINGS, tables.tier_rows(tiers(old), planned))
    yield table(tables.FLAVOR_HEADINGS, tables.flavor_rows(flavors(old), flavors(new)))
    if teams := tables.team_rows(planned):
        yield table(teams[0], teams[1:])
    if drawn := drawing.drawings(planned, _DRAWING_WIDTH):
        scaled = [note for each in drawn for note in each.scale]
        unit = [_UNIT] if len(scaled) < sum(len(each.flavors) for each in drawn) else []
        notes = [drawing.LEGEND, *unit, *scaled]
        lines = [line for each in drawn for line in each.lines()]
        yield fenced([*lines, *notes])
