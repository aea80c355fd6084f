"""The node groups: nodes, taints and costs, before and after a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import cast

from rich.console import RenderableType
from rich.text import Text

from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.commands.preview.section import collapsed, tabled
from tensorplane.cli.output import markdown as md
from tensorplane.cli.output.numbers import NOTHING, cost, span
from tensorplane.cli.output.tables import table
from tensorplane.cli.output.texts import before_after
from tensorplane.components.base import outputs
from tensorplane.components.base.labels import PLUGIN_CONFIG

_HEADINGS = ("node group", "machine", "accelerator", "sharing", "nodes", "devices", "$/h")
_MARKS = ("node group", "taints", "labels")
_NUMBERS = ("devices", "$/h")
_PRICES = "Estimates with all groups at their maximum: spot prices of spot nodes, else on demand; - means unknown."
_WIDTH_FOR_TAINTS = 110
_NO_ACCELERATOR = "none"


@dataclass(frozen=True)
class Group:
    """A node group as its component registers it. `old` is empty if it is new, `new` if it is deleted."""

    name: str
    old: outputs.NodeGroup
    new: outputs.NodeGroup

    @property
    def cells(self) -> tuple[str, ...]:
        """A text for each of the headings; changes as `before → after`."""
        name = self.name if self.new else f"{self.name} (deleted)"
        return (name, *before_after(_cells(self.old), _cells(self.new)))

    @property
    def taints(self) -> tuple[str, ...]:
        """The taints that keep away pods without tolerations."""
        return tuple(_lines(*({_key(taint): taint for taint in f.get("taints", ())} for f in (self.old, self.new))))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels for node selectors."""
        return tuple(_lines(*({k: f"{k}={v}" for k, v in f.get("labels", {}).items()} for f in (self.old, self.new))))


def groups(report: Report) -> tuple[Group, ...]:
    """The stack's node groups, by name."""
    return tuple(
        Group(name, cast(outputs.NodeGroup, old), cast(outputs.NodeGroup, new))
        for name, (old, new) in sorted(report.registered("NodeGroup").items())
    )


def terminal(report: Report, width: int) -> Iterator[RenderableType]:
    """A table, with taints if the terminal is wide enough; labels are only in the Markdown."""
    found = groups(report)
    if not found:
        return
    taints = width >= _WIDTH_FOR_TAINTS
    rows = [[*map(Text, group.cells), *([Text("\n".join(group.taints))] if taints else [])] for group in found]
    rows.append([Text(cell, style="bold") for cell in total(found)])
    yield ""
    yield table((*_HEADINGS, *(["taints"] if taints else ())), rows, right=_NUMBERS)
    yield Text(prices(found), style="dim")
    yield ""


def markdown(report: Report) -> Iterator[str]:
    """A table, and one of taints and labels, which a click opens; both closed if no group changes."""
    if not (found := groups(report)):
        return
    yield "## Node groups"
    if _differ(found):
        yield from tabled(report, _HEADINGS, (group.cells for group in found), total(found))
        yield prices(found)
        marked = [_marked(group) for group in found]
        yield from collapsed("Taints and labels, without the cloud's own", marked, partial(md.table, _MARKS))
    else:
        shown = md.full_table(_HEADINGS, [*(group.cells for group in found), total(found)])
        yield from md.details("Unchanged", [shown, prices(found), md.table(_MARKS, map(_marked, found))])


def _differ(found: Iterable[Group]) -> bool:
    return any(group.old != group.new for group in found)


def _marked(group: Group) -> tuple[str, ...]:
    return (group.name, *map(md.lines_of_code, (group.taints, group.labels)))


def prices(groups: Iterable[Group]) -> str:
    """What the prices mean, and which are missing."""
    return " ".join(filter(None, (_PRICES, without_price(groups))))


def total(groups: Iterable[Group]) -> tuple[str, ...]:
    """A text for each of the headings: all groups together, each at its maximum."""
    there = [group.new for group in groups if group.new]
    hourly = [each.get("hourlyUsdMax") for each in there]
    known = sum(price for price in hourly if price is not None)
    together = f"{'> ' if None in hourly else ''}{cost(known)}" if known or not hourly else NOTHING
    nodes = span((sum(each["minNodes"] for each in there), sum(each["maxNodes"] for each in there)))
    return ("at maximum", "", "", "", nodes, f"{sum(map(_accelerators, there)):g}", together)


def without_price(groups: Iterable[Group]) -> str:
    """The groups that the total excludes; empty if it includes all, or if no group has a known machine."""
    there = [group for group in groups if group.new]
    if not any(group.new.get("machine") for group in there):
        return ""
    lacking = [_machine(group) for group in there if group.new.get("hourlyUsdMax") is None]
    return f"The total excludes {', '.join(lacking)}: the price is unknown (docs/catalog.md)." if lacking else ""


def _machine(group: Group) -> str:
    words = [group.new.get("machine") or "", "spot" if group.new["spot"] else ""]
    return f"{group.name} ({' '.join(filter(None, words))})" if any(words) else group.name


def _cells(group: outputs.NodeGroup) -> tuple[str, ...]:
    if not group:
        return ()
    accelerator, nodes = group["accelerator"], group["maxNodes"]
    per_node = int(_accelerators(group) // nodes)
    return (
        group.get("machine") or NOTHING,
        _NO_ACCELERATOR if accelerator == _NO_ACCELERATOR else f"{per_node} {accelerator}",
        group["labels"].get(PLUGIN_CONFIG, NOTHING),
        span((group["minNodes"], nodes)) + (" spot" if group["spot"] else ""),
        f"{_accelerators(group):g}",
        cost(group.get("hourlyUsdMax")),
    )


def _accelerators(group: outputs.NodeGroup) -> float:
    return float(group["gpusMax"] + group["tpusMax"])


def _key(taint: str) -> str:
    """The identity of a taint on its node: its key and its effect."""
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
