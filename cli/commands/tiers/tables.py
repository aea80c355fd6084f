"""Tiers for the terminal: which queue gets which flavors, as tables and as a drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from cli.commands.tiers import drawing, text
from cli.commands.tiers.rows import Flavor, Tier
from cli.output.numbers import NOTHING
from cli.output.tables import table

_WIDE = 100
_OF_QUEUE = 3
"""Columns with the same content in all rows of a queue."""
_LEAST = 22
_STYLES = {drawing.GUARANTEED: "green", drawing.BORROWABLE: "yellow", drawing.NEVER: "dim"}


def render(
    tiers: Sequence[Tier],
    flavors: Sequence[Flavor],
    width: int,
    *,
    before: Sequence[Tier] = (),
    had: Sequence[Flavor] = (),
) -> RenderableType:
    """The queues, the flavors, the teams, and the drawing. `before`, `had`: those before the update."""
    rows = list(text.rows(before, tiers))
    parts: list[RenderableType] = [table(text.HEADINGS, rows)] if width >= _WIDE else list(_below(rows))
    parts += ["", table(text.FLAVOR_HEADINGS, text.flavor_rows(had, flavors))]
    if teams := text.team_rows(tiers):
        parts += ["", table(teams[0], teams[1:])]
    return Group(*parts, "", *_drawing(tiers, width))


def _below(rows: Sequence[tuple[str, ...]]) -> Iterator[RenderableType]:
    """For narrow terminals: a line for each queue, then its flavors."""
    headings = text.HEADINGS[_OF_QUEUE:]
    widths = [max(map(len, column)) for column in zip(headings, *(row[_OF_QUEUE:] for row in rows), strict=True)]
    starts = [index for index, row in enumerate(rows) if row[0]]
    for start, end in pairwise([*starts, len(rows)]):
        name, priority, teams = rows[start][:_OF_QUEUE]
        details = f"  priority {priority}" + ("" if teams == NOTHING else f"; teams {teams}")
        yield Text.assemble((name, "bold"), details)
        made = table(headings, [row[_OF_QUEUE:] for row in rows[start:end]])
        for column, least in zip(made.columns, widths, strict=True):
            column.min_width = min(least, _LEAST)
        yield Padding(made, (0, 0, 0, 2), expand=False)


def _drawing(tiers: Sequence[Tier], width: int) -> Iterator[Text]:
    """The lines of the drawing, with a legend."""
    found = drawing.drawings(tiers, width)
    for each in found:
        for line in each.lines():
            drawn = Text(line, no_wrap=True, overflow="crop")
            for sign, style in _STYLES.items():
                drawn.highlight_words([sign], style)
            yield drawn
    if found:
        scale = "; ".join(note for each in found for note in each.scale)
        yield Text(f"{drawing.LEGEND}{'; ' if scale else ''}{scale}", style="dim")
