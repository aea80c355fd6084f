"""Tiers for the terminal: who gets which machines as tables, and drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli import tier_text
from cli.tier_rows import Kind, Tier

_WIDE = 100
_OF_QUEUE = 3
"""Columns that say the same for all rows of a queue."""
_LEAST = 22
_STYLES = {tier_text.SURE: "green", tier_text.BORROWED: "yellow", tier_text.NEVER: "dim"}


def render(
    tiers: Sequence[Tier], kinds: Sequence[Kind], width: int, *, before: Sequence[Tier] = (), had: Sequence[Kind] = ()
) -> RenderableType:
    """The queues, what is left of each kind of machine, what teams get, and the drawing. `before`, `had`: what was."""
    rows = list(tier_text.rows(before, tiers))
    parts: list[RenderableType] = [table(tier_text.HEADINGS, rows)] if width >= _WIDE else list(_below(rows))
    parts += ["", table(tier_text.KIND_HEADINGS, tier_text.kind_rows(had, kinds))]
    if teams := tier_text.team_rows(tiers):
        parts += ["", table(teams[0], teams[1:])]
    return Group(*parts, "", *drawing(tiers, width))


def _below(rows: Sequence[tuple[str, ...]]) -> Iterator[RenderableType]:
    """Queues below each other, for narrow terminals: what is of the queue in a line, then its kinds of machines."""
    headings = tier_text.HEADINGS[_OF_QUEUE:]
    widths = [max(map(len, column)) for column in zip(headings, *(row[_OF_QUEUE:] for row in rows), strict=True)]
    starts = [index for index, row in enumerate(rows) if row[0]]
    for start, end in pairwise([*starts, len(rows)]):
        name, priority, teams = rows[start][:_OF_QUEUE]
        told = f"  priority {priority}" + ("" if teams == tier_text.NOTHING else f"; teams {teams}")
        yield Text.assemble((name, "bold"), told)
        made = table(headings, [row[_OF_QUEUE:] for row in rows[start:end]])
        for column, least in zip(made.columns, widths, strict=True):
            column.min_width = min(least, _LEAST)
        yield Padding(made, (0, 0, 0, 2), expand=False)


def drawing(tiers: Sequence[Tier], width: int) -> Iterator[Text]:
    """The drawing, a line each, with what its signs mean."""
    found = tier_text.drawings(tiers, width)
    for each in found:
        for line in each.lines():
            text = Text(line, no_wrap=True, overflow="crop")
            for sign, style in _STYLES.items():
                text.highlight_words([sign], style)
            yield text
    if found:
        scale = "; ".join(note for each in found for note in each.scale)
        yield Text(f"{tier_text.LEGEND}{'; ' if scale else ''}{scale}", style="dim")


def table(headings: Sequence[str], rows: Iterable[tuple[str, ...]]) -> Table:
    """A table in the terminal's width, names in bold."""
    made = Table(box=None, pad_edge=False, header_style="dim")
    for heading in headings:
        made.add_column(heading, overflow="fold")
    for first, *rest in rows:
        made.add_row(Text(first, style="bold"), *map(Text, rest))
    return made
