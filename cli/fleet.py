"""The node groups that a preview shows: what each comes to, and before a change what it was. No text layout here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

COMPONENT = "tensorplane:index:NodeGroup"
HEADINGS = ("node group", "machine", "accelerator", "shared", "nodes", "cards", "$/h")
"""Of the columns that have one value each; taints and labels have several."""
NOTHING = "-"
_NO_ACCELERATOR = "none"
_SHARING = "nvidia.com/device-plugin.config"

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Group:
    """One node group as its component registers it. `old` is empty where it is new, `new` where it goes."""

    name: str
    old: Facts
    new: Facts

    @property
    def cells(self) -> tuple[str, ...]:
        """A text for each of the headings; what changes as `before → after`."""
        before, after = _cells(self.old), _cells(self.new)
        if not (before and after):
            return (f"{self.name} (goes)" if before else self.name, *(before or after))
        return (self.name, *(b if a == b else f"{b} → {a}" for b, a in zip(before, after, strict=True)))

    @property
    def taints(self) -> tuple[str, ...]:
        """What keeps pods away that do not tolerate it."""
        return tuple(_lines(*({_key(taint): taint for taint in f.get("taints", ())} for f in (self.old, self.new))))

    @property
    def labels(self) -> tuple[str, ...]:
        """What pods can select."""
        return tuple(_lines(*({k: f"{k}={v}" for k, v in f.get("labels", {}).items()} for f in (self.old, self.new))))


def total(groups: Iterable[Group]) -> tuple[str, ...]:
    """A text for each of the headings: all groups together, when every one is full."""
    facts = [group.new for group in groups if group.new]
    prices = [each.get("hourlyUsdMax") for each in facts]
    known = sum(price for price in prices if price is not None)
    cost = f"{'> ' if None in prices else ''}{known:,.2f}" if known else NOTHING
    nodes = _span(sum(each["minNodes"] for each in facts), sum(each["maxNodes"] for each in facts))
    return ("all full", "", "", "", nodes, _count(sum(map(_accelerators, facts))), cost)


def _cells(facts: Facts) -> tuple[str, ...]:
    if not facts:
        return ()
    card, nodes = facts["accelerator"], facts["maxNodes"]
    per_node = int(_accelerators(facts) // nodes)
    cost = facts.get("hourlyUsdMax")
    return (
        facts.get("machine") or NOTHING,
        NOTHING if card == _NO_ACCELERATOR else f"{per_node} {card}",
        facts["labels"].get(_SHARING, NOTHING),
        _span(facts["minNodes"], nodes) + (" spot" if facts["spot"] else ""),
        _count(_accelerators(facts)),
        NOTHING if cost is None else f"{cost:,.2f}",
    )


def _accelerators(facts: Facts) -> float:
    return float(facts["gpusMax"] + facts["tpusMax"])


def _count(number: float) -> str:
    return f"{number:g}" if number else NOTHING


def _span(least: float, most: float) -> str:
    return f"{least:g}" if least == most else f"{least:g}-{most:g}"


def _key(taint: str) -> str:
    """What tells a taint from the others of its node: its key, and its effect."""
    return f"{taint.partition('=')[0]}:{taint.rpartition(':')[2]}"


def _lines(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    if not (old and new):
        yield from (old or new).values()
        return
    for key in dict.fromkeys([*new, *old]):
        before, after = old.get(key), new.get(key)
        if before is None or after is None:
            yield f"{'+' if before is None else '−'} {after or before}"  # noqa: RUF001 (a minus that is no list in Markdown)
        else:
            yield after if before == after else f"{before} → {after.partition('=')[2]}"
