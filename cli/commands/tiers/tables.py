"""Tiers for the terminal: rows before and after a change, tables, and a drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tensorplane.cli.commands.tiers import drawing
from tensorplane.cli.commands.tiers.rows import Flavor, Share, Tier, amount_text, by_team
from tensorplane.cli.output.numbers import NOTHING
from tensorplane.cli.output.tables import table
from tensorplane.cli.output.texts import before_after, first_names

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
    rows = list(tier_rows(before, tiers))
    parts: list[RenderableType] = [table(HEADINGS, rows)] if width >= _WIDE else list(_below(rows))
    parts += ["", table(FLAVOR_HEADINGS, flavor_rows(had, flavors))]
    if teams := team_rows(tiers):
        parts += ["", table(teams[0], teams[1:])]
    return Group(*parts, "", *_drawing(tiers, width))


def _below(rows: Sequence[tuple[str, ...]]) -> Iterator[RenderableType]:
    """For narrow terminals: a line for each queue, then its flavors."""
    headings = HEADINGS[_OF_QUEUE:]
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


HEADINGS = ("queue", "priority", "teams", "order", "flavor", "guaranteed", "borrowable")
FLAVOR_HEADINGS = ("flavor", "capacity", "guaranteed", "unreserved")
_MAX_NAMES = 4
"""Maximum names of teams, lenders and queues in a cell."""


def tier_rows(before: Sequence[Tier], after: Sequence[Tier]) -> Iterator[tuple[str, ...]]:
    """A text for each of HEADINGS; changes as `before → after`, without repeating the row above."""
    old, new = ({tier.name: tier for tier in each} for each in (before, after))
    for name in dict.fromkeys([*new, *old]):
        was, now = old.get(name), new.get(name)
        label = f"{name} (deleted)" if now is None else name
        head: tuple[str, ...] = (label, *before_after(_head(was), _head(now)))
        for cells in _shares(was, now):
            yield (*head, *cells)
            head = ("",) * len(head)


def flavor_rows(before: Sequence[Flavor], after: Sequence[Flavor]) -> Iterator[tuple[str, ...]]:
    """The capacity of each flavor, what is guaranteed to queues, and what is left."""
    old, new = ({flavor.name: flavor for flavor in each} for each in (before, after))
    for name in dict.fromkeys([*new, *old]):
        was, now = old.get(name), new.get(name)
        yield (f"{name} (deleted)" if now is None else name, *before_after(_flavor(was), _flavor(now)))


def team_rows(found: Sequence[Tier]) -> list[tuple[str, ...]]:
    """The headings, then each team's share of each flavor; empty without teams."""
    teams = by_team(found)
    if not teams:
        return []
    names = [share.flavor for share in found[0].shares]
    lines = []
    for team, shares in teams.items():
        queues = [tier.name for tier in found if team in tier.teams]
        lines.append((team, *(_sum(name, *shares[name]) for name in names), first_names(queues, _MAX_NAMES)))
    return [("team", *names, "queues"), *lines]


def _head(tier: Tier | None) -> tuple[str, ...]:
    return (tier.priority, first_names(tier.teams, _MAX_NAMES) or NOTHING) if tier else ()


def _shares(was: Tier | None, now: Tier | None) -> Iterator[tuple[str, ...]]:
    """The rows of one queue: first what it uses or used, in its order."""
    given = [tier for tier in (now, was) if tier]
    shares = sorted((share for tier in given for share in tier.in_order), key=lambda share: share.order)
    used = dict.fromkeys(share.flavor for share in shares)
    for flavor in used:
        order, *amounts = before_after(*(_texts(_of(tier, flavor)) if tier else () for tier in (was, now)))
        yield (order, flavor, *amounts)
    if never := [flavor for flavor in given[0].never if flavor not in used]:
        yield ("never", ", ".join(never), "0", "0")


def _of(tier: Tier, flavor: str) -> Share:
    return next((share for share in tier.shares if share.flavor == flavor), Share(flavor, 0))


def _texts(share: Share) -> tuple[str, str, str]:
    if not share.order:
        return ("never", "0", "0")
    lent = f" from {first_names(share.lenders, _MAX_NAMES) or 'no queue'}" if share.borrowable else ""
    return (
        str(share.order),
        amount_text(share.flavor, share.guaranteed),
        amount_text(share.flavor, share.borrowable) + lent,
    )


def _flavor(flavor: Flavor | None) -> tuple[str, ...]:
    if flavor is None:
        return ()
    capacity, unreserved = (
        "unknown" if each is None else amount_text(flavor.name, each) for each in (flavor.capacity, flavor.unreserved)
    )
    return capacity, amount_text(flavor.name, flavor.guaranteed), unreserved


def _sum(flavor: str, guaranteed: float, borrowable: float) -> str:
    if not (guaranteed or borrowable):
        return "never"
    own = amount_text(flavor, guaranteed)
    return f"{own} + {amount_text(flavor, borrowable)}" if borrowable else own
