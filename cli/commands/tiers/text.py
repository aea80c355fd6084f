"""Tiers as rows of tables, before and after a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cli.commands.tiers.rows import Flavor, Share, Tier, by_team, counted
from cli.output.numbers import NOTHING
from cli.output.texts import before_after, first

HEADINGS = ("queue", "priority", "teams", "order", "flavor", "guaranteed", "borrowable")
FLAVOR_HEADINGS = ("flavor", "capacity", "guaranteed", "unreserved")
_NAMES = 4
"""Maximum names of teams, lenders and queues in a cell."""


def rows(before: Sequence[Tier], after: Sequence[Tier]) -> Iterator[tuple[str, ...]]:
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
        lines.append((team, *(_sum(name, *shares[name]) for name in names), first(queues, _NAMES)))
    return [("team", *names, "queues"), *lines]


def _head(tier: Tier | None) -> tuple[str, ...]:
    return (tier.priority, first(tier.teams, _NAMES) or NOTHING) if tier else ()


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
    lent = f" from {first(share.lenders, _NAMES) or 'no queue'}" if share.borrowable else ""
    return (
        str(share.order),
        counted(share.flavor, share.guaranteed),
        counted(share.flavor, share.borrowable) + lent,
    )


def _flavor(flavor: Flavor | None) -> tuple[str, ...]:
    if flavor is None:
        return ()
    capacity, unreserved = (
        "unknown" if each is None else counted(flavor.name, each) for each in (flavor.capacity, flavor.unreserved)
    )
    return capacity, counted(flavor.name, flavor.guaranteed), unreserved


def _sum(flavor: str, guaranteed: float, borrowable: float) -> str:
    if not (guaranteed or borrowable):
        return "never"
    own = counted(flavor, guaranteed)
    return f"{own} + {counted(flavor, borrowable)}" if borrowable else own
