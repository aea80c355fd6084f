"""Tiers as texts: rows of a table, before a change and after it, and the drawing of who takes what in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cli.tier_rows import Kind, Share, Tier, by_team, counted

HEADINGS = ("queue", "priority", "teams", "takes", "kind", "sure", "may borrow")
KIND_HEADINGS = ("kind", "in full groups", "sure of it", "of no queue")
NOTHING = "-"
SURE, BORROWED, NEVER = "█", "░", "·"
LEGEND = f"{SURE} sure of it  {BORROWED} may borrow it  {NEVER} never gets it; the number says what it takes first"
_GAP = 2
_LEAST_BLOCKS = 4
_MOST_BLOCKS = 24
_NAMES = 4
"""So many are told."""
_ORDER = 2
"""Characters of an order number and the space behind it."""


def rows(before: Sequence[Tier], after: Sequence[Tier]) -> Iterator[tuple[str, ...]]:
    """A text for each of the headings; what changes as `before → after`, nothing repeated from the row above."""
    old, new = ({tier.name: tier for tier in each} for each in (before, after))
    for name in dict.fromkeys([*new, *old]):
        was, now = old.get(name), new.get(name)
        told = f"{name} (goes)" if now is None else name
        head: tuple[str, ...] = (told, *_pairs(_head(was), _head(now)))
        for cells in _shares(was, now):
            yield (*head, *cells)
            head = ("",) * len(head)


def kind_rows(before: Sequence[Kind], after: Sequence[Kind]) -> Iterator[tuple[str, ...]]:
    """What there is of each kind of machine, what queues are sure of, and what is left."""
    old, new = ({kind.name: kind for kind in each} for each in (before, after))
    for name in dict.fromkeys([*new, *old]):
        was, now = old.get(name), new.get(name)
        yield (f"{name} (goes)" if now is None else name, *_pairs(_kind(was), _kind(now)))


def team_rows(found: Sequence[Tier]) -> list[tuple[str, ...]]:
    """Headings first, then what each team's queues give it of each kind of machine; none without teams."""
    teams = by_team(found)
    if not teams:
        return []
    names = [share.kind for share in found[0].shares]
    lines = [
        (team, *(_sum(kind, *shares[kind]) for kind in names), _few([t.name for t in found if team in t.teams]))
        for team, shares in teams.items()
    ]
    return [("team", *names, "by its queues"), *lines]


@dataclass(frozen=True)
class Row:
    """One queue in a drawing."""

    label: str
    cells: tuple[tuple[str, str], ...]
    """For each kind of machine the order number, and the blocks."""


@dataclass(frozen=True)
class Drawing:
    """Queues below each other, kinds of machines beside each other, from the oldest to the newest."""

    kinds: tuple[str, ...]
    widths: tuple[int, ...]
    """Of the kinds' columns."""
    label: int
    """Width of the queues' names."""
    rows: tuple[Row, ...]
    scale: tuple[str, ...]
    """Kinds of which a block is more than one."""

    def lines(self) -> Iterator[str]:
        """The drawing as plain text."""
        gap = " " * _GAP
        yield gap.join([" " * self.label, *map(str.ljust, self.kinds, self.widths)]).rstrip()
        for row in self.rows:
            cells = (
                f"{order}{blocks}".ljust(width) for (order, blocks), width in zip(row.cells, self.widths, strict=True)
            )
            yield gap.join([row.label.ljust(self.label), *cells]).rstrip()


def drawings(found: Sequence[Tier], width: int) -> list[Drawing]:
    """The drawing in a width; kinds for which there is no room are in further ones below."""
    if not found:
        return []
    label = max(len(tier.name) for tier in found)
    names = [share.kind for share in found[0].shares]
    blocks = {name: _blocks(name, found) for name in names}
    lists: list[list[str]] = [[]]
    room = left = max(width - label, 1)
    for name in names:
        needed = _GAP + max(len(name), _ORDER + blocks[name])
        if needed > left and lists[-1]:
            lists.append([])
            left = room
        lists[-1].append(name)
        left -= needed
    return [_drawing(found, kinds, label, blocks) for kinds in lists]


def _drawing(found: Sequence[Tier], kinds: Sequence[str], label: int, blocks: dict[str, int]) -> Drawing:
    units = {name: _unit(name, found, blocks[name]) for name in kinds}
    lines = tuple(
        Row(tier.name, tuple(_cell(share, units[share.kind]) for share in tier.shares if share.kind in units))
        for tier in found
    )
    return Drawing(
        tuple(kinds),
        tuple(max(len(name), _ORDER + blocks[name]) for name in kinds),
        label,
        lines,
        tuple(f"{SURE} of {name} is {counted(name, unit)}" for name, unit in units.items() if unit > 1),
    )


def _most(kind: str, found: Iterable[Tier]) -> float:
    return max(
        (share.guaranteed + share.borrowable for tier in found for share in tier.shares if share.kind == kind),
        default=0,
    )


def _blocks(kind: str, found: Sequence[Tier]) -> int:
    return int(min(max(_most(kind, found), _LEAST_BLOCKS), _MOST_BLOCKS))


def _unit(kind: str, found: Sequence[Tier], blocks: int) -> int:
    """How much one block stands for."""
    return max(1, -int(-_most(kind, found) // blocks))


def _cell(share: Share, unit: int) -> tuple[str, str]:
    if not share.order:
        return " " * _ORDER, NEVER * _LEAST_BLOCKS
    sure, more = -int(-share.guaranteed // unit), -int(-share.borrowable // unit)
    return f"{share.order} ".ljust(_ORDER), SURE * sure + BORROWED * more


def _few(names: Sequence[str]) -> str:
    more = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {more} more" if more > 0 else "")


def _head(tier: Tier | None) -> tuple[str, ...]:
    return (tier.priority, _few(tier.teams) or NOTHING) if tier else ()


def _shares(was: Tier | None, now: Tier | None) -> Iterator[tuple[str, ...]]:
    """The rows of one queue: first what it uses or used, in its order."""
    given = [tier for tier in (now, was) if tier]
    used = dict.fromkeys(share.kind for tier in given for share in tier.in_order)
    for kind in used:
        order, *amounts = _pairs(*(_texts(_of(tier, kind)) if tier else () for tier in (was, now)))
        yield (order, kind, *amounts)
    if never := [kind for kind in given[0].never if kind not in used]:
        yield ("never", ", ".join(never), NOTHING, NOTHING)


def _of(tier: Tier, kind: str) -> Share:
    return next((share for share in tier.shares if share.kind == kind), Share(kind, 0))


def _texts(share: Share) -> tuple[str, str, str]:
    if not share.order:
        return ("never", NOTHING, NOTHING)
    lent = f" of {_few(share.lenders) or 'nobody'}" if share.borrowable else ""
    return (
        str(share.order),
        counted(share.kind, share.guaranteed),
        counted(share.kind, share.borrowable) + lent,
    )


def _kind(kind: Kind | None) -> tuple[str, ...]:
    if kind is None:
        return ()
    unknown = "not told"
    most, free = (unknown if each is None else counted(kind.name, each) for each in (kind.most, kind.free))
    return most, counted(kind.name, kind.held), free


def _sum(kind: str, sure: float, more: float) -> str:
    if not (sure or more):
        return "never"
    return f"{counted(kind, sure)} + {counted(kind, more)}" if more else counted(kind, sure)


def _pairs(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    if not (before and after):
        return before or after
    return tuple(b if a == b else f"{b} → {a}" for b, a in zip(before, after, strict=True))
