"""Tiers as a drawing: blocks for each queue's share of each flavor, with the order of use and the amount."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tensorplane.cli.commands.tiers.rows import Share, Tier, amount_text

GUARANTEED, BORROWABLE, NEVER = "█", "░", "·"
LEGEND = f"{GUARANTEED} guaranteed  {BORROWABLE} borrowable  {NEVER} never; first the order of use, last the amount"
_GAP = 2
_LEAST_BLOCKS = 4
_MOST_BLOCKS = 24
_ORDER = 2
"""Characters of an order number and the space behind it."""


@dataclass(frozen=True)
class Row:
    """One queue in a drawing."""

    label: str
    cells: tuple[tuple[str, str], ...]
    """For each flavor the order number, and the blocks with the amount."""


@dataclass(frozen=True)
class Drawing:
    """Queues in rows, flavors in columns, from the oldest to the newest."""

    flavors: tuple[str, ...]
    widths: tuple[int, ...]
    """Of the flavors' columns."""
    label: int
    """Width of the queues' names."""
    rows: tuple[Row, ...]
    scale: tuple[str, ...]
    """Flavors of which a block stands for more than one."""

    def lines(self) -> Iterator[str]:
        """The drawing as plain text."""
        gap = " " * _GAP
        yield gap.join([" " * self.label, *map(str.ljust, self.flavors, self.widths)]).rstrip()
        for row in self.rows:
            cells = (
                f"{order}{blocks}".ljust(width) for (order, blocks), width in zip(row.cells, self.widths, strict=True)
            )
            yield gap.join([row.label.ljust(self.label), *cells]).rstrip()


def drawings(found: Sequence[Tier], width: int) -> list[Drawing]:
    """The drawing in a width; flavors that do not fit are in further drawings below."""
    if not found:
        return []
    label = max(len(tier.name) for tier in found)
    names = [share.flavor for share in found[0].shares]
    blocks = {name: _blocks(name, found) for name in names}
    amounts = {name: _longest_amount(name, found) for name in names}
    lists: list[list[str]] = [[]]
    limit = left = max(width - label, 1)
    for name in names:
        needed = _GAP + max(len(name), _ORDER + blocks[name] + amounts[name])
        if needed > left and lists[-1]:
            lists.append([])
            left = limit
        lists[-1].append(name)
        left -= needed
    return [_drawing(found, flavors, label, blocks, amounts) for flavors in lists]


def _drawing(
    found: Sequence[Tier], flavors: Sequence[str], label: int, blocks: dict[str, int], amounts: dict[str, int]
) -> Drawing:
    units = {name: _unit(name, found, blocks[name]) for name in flavors}
    lines = tuple(
        Row(tier.name, tuple(_cell(share, units[share.flavor]) for share in tier.shares if share.flavor in units))
        for tier in found
    )
    return Drawing(
        tuple(flavors),
        tuple(max(len(name), _ORDER + blocks[name] + amounts[name]) for name in flavors),
        label,
        lines,
        tuple(f"one block of {name} is {amount_text(name, unit)}" for name, unit in units.items() if unit > 1),
    )


def _most(flavor: str, found: Iterable[Tier]) -> float:
    return max(
        (share.guaranteed + share.borrowable for tier in found for share in tier.shares if share.flavor == flavor),
        default=0,
    )


def _blocks(flavor: str, found: Sequence[Tier]) -> int:
    return int(min(max(_most(flavor, found), _LEAST_BLOCKS), _MOST_BLOCKS))


def _unit(flavor: str, found: Sequence[Tier], blocks: int) -> int:
    """The amount that one block stands for."""
    return max(1, -int(-_most(flavor, found) // blocks))


def _cell(share: Share, unit: int) -> tuple[str, str]:
    if not share.order:
        return " " * _ORDER, NEVER * _LEAST_BLOCKS
    guaranteed, borrowable = -int(-share.guaranteed // unit), -int(-share.borrowable // unit)
    return f"{share.order} ".ljust(_ORDER), GUARANTEED * guaranteed + BORROWABLE * borrowable + _amount(share)


def _amount(share: Share) -> str:
    return f" {'+'.join(f'{each:g}' for each in (share.guaranteed, share.borrowable) if each)}"


def _longest_amount(flavor: str, found: Iterable[Tier]) -> int:
    shares = (share for tier in found for share in tier.shares if share.flavor == flavor and share.order)
    return max((len(_amount(share)) for share in shares), default=0)
