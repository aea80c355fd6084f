"""What the stack costs before and after the update, and the difference: node groups, queues, training runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from tensorplane.cli.commands.preview import cost_notes, spending
from tensorplane.cli.commands.preview.head import Block
from tensorplane.cli.commands.preview.report import Outputs, Report
from tensorplane.cli.commands.preview.section import list_lines, tabled
from tensorplane.cli.output import aggregated
from tensorplane.cli.output.escaping import line
from tensorplane.cli.output.numbers import NOTHING, change, dollars
from tensorplane.cli.output.tables import table
from tensorplane.cli.output.texts import before_after, first_names
from tensorplane.components.base.price import Usd
from tensorplane.components.cost import pods
from tensorplane.components.cost.difference import Compared, difference, total
from tensorplane.components.cost.estimate import (
    BORROWED,
    EXPECTED,
    HOUR,
    HOURS_PER_MONTH,
    MAX,
    MIN,
    MONTH,
    OWNED,
    RUN,
    Estimate,
    Kind,
    registered,
)

_MAX_NAMES = 8
"""Maximum names of things whose price is unknown for one reason."""
_TYPES: tuple[tuple[Kind, str], ...] = (("group", "NodeGroup"), ("queue", "Queue"), ("run", "TrainingJob"))


@dataclass(frozen=True)
class _Table:
    """How estimates of one kind are shown."""

    kind: Kind
    heading: str
    figures: tuple[tuple[str, str], ...]
    """Figures and their columns; the last column is the difference of the figure named by `difference`."""
    difference: str


_TABLES = (
    _Table(
        "group",
        "node group",
        ((MIN, "$/h at min"), (EXPECTED, "$/h expected"), (MAX, "$/h at max"), (MONTH, "$/month")),
        MAX,
    ),
    _Table("queue", "queue", ((OWNED, "$/h guaranteed"), (BORROWED, "$/h borrowable")), OWNED),
    _Table("run", "training run", ((HOUR, "$/h"), (RUN, "$ like the last run")), HOUR),
)


def compared(report: Report) -> list[Compared]:
    """Everything that costs, before and after the update; empty if no price is known."""
    sides: tuple[list[Estimate], list[Estimate]] = ([], [])
    for kind, token in _TYPES:
        for name, both in report.registered(token).items():
            for side, outputs in zip(sides, both, strict=True):
                if outputs:
                    side.append(_estimate(kind, name, outputs, report.durations.get(name)))
    found = difference(*sides)
    return found if _is_priced(found) else []


def _is_priced(found: Iterable[Compared]) -> bool:
    """Whether a price of one of them is known."""
    return any(usd for each in found for one in (each.before, each.after) if one for usd in one.figures.values())


def terminal(report: Report, _: int) -> Iterator[RenderableType]:
    """A table for each kind."""
    found = compared(report)
    if not found:
        return
    yield Text(f"cost: {spending.sentence(found)}".removesuffix(": "), style="bold")
    for each in _TABLES:
        if rows := _rows(each, found, report):
            shown = [*aggregated.rows(rows, report.names), *_totals(each, found)]
            yield table(_headings(each), shown, right=_headings(each)[1:])
            yield ""
    yield from (Text(line, style="dim") for line in (*unknown(found), cost_notes.price_note(report)))
    yield ""


def head(report: Report) -> Iterator[Block]:
    """The difference."""
    text = spending.sentence(compared(report))
    if not text and any(new.get("machine") for _, new in report.registered("NodeGroup").values()):
        text = "unknown: no price of its machines is known"
    if parts := [*filter(None, (text, cost_notes.storage_note(report)))]:
        only_if = ["merging saves nothing"] if report.stack_removed else []
        yield Block("Cost", [*only_if, *parts], when=f", {report.when}" if report.when else "")


def markdown(report: Report) -> Iterator[str]:
    """What the figures mean, and a table for each kind."""
    found = compared(report)
    if not found:
        return
    yield "## Cost"
    if spending.sentence(found):
        yield line(_rest(found))
    for each in _TABLES:
        if rows := _rows(each, found, report):
            yield from tabled(report, _headings(each), rows, *_totals(each, found))
    if lines := [*cost_notes.training_shares(report), *unknown(found)]:
        yield from list_lines(report, lines)
    yield line(cost_notes.price_note(report))


def _rest(found: Sequence[Compared]) -> str:
    """What queues can use of it, and what the figures at most mean."""
    month = f"A month has {HOURS_PER_MONTH} hours; full node groups all the time are the most, not what is likely."
    of_queues = spending.covered(found)
    return f"{of_queues}. {month}" if of_queues else month


def unknown(found: Sequence[Compared]) -> list[str]:
    """What is missing for figures after the update: a line for each reason, with the names that it concerns."""
    names: dict[str, list[str]] = {}
    for each in found:
        if each.after and each.after.missing and not spending.is_undeclared(each):
            names.setdefault(each.after.missing, []).append(each.name)
    lines = [f"{first_names(several, _MAX_NAMES)}: {missing}" for missing, several in names.items()]
    likely = spending.expected(found)
    return [likely, *lines] if likely else lines


def _estimate(kind: Kind, name: str, outputs: Outputs, seconds: float | None) -> Estimate:
    found = registered(kind, name, outputs.get("cost"))
    most = outputs.get("hourlyUsdMax")
    if "cost" not in outputs and most is not None:
        return Estimate(kind, name, {MAX: Usd(most, most)}, found.missing)
    return pods.lasting(found, seconds) if kind == "run" else found


def _headings(shown: _Table) -> tuple[str, ...]:
    return (shown.heading, *(heading for _, heading in shown.figures), "difference")


def _rows(shown: _Table, found: Iterable[Compared], report: Report) -> list[tuple[str, ...]]:
    """A row for each of a kind; none if no price of that kind is known."""
    mine = [each for each in found if each.kind == shown.kind]
    groups = report.registered("NodeGroup") if shown.kind == "group" else {}
    rows = [_row(shown, each, cost_notes.basis(*groups.get(each.name, ({}, {})))) for each in mine]
    return rows if _is_priced(mine) else []


def _totals(shown: _Table, found: Iterable[Compared]) -> list[tuple[str, ...]]:
    """The row of all node groups together, if they are several."""
    mine = [each for each in found if each.kind == shown.kind]
    return [_total(shown, mine)] if shown.kind == "group" and len(mine) > 1 else []


def _row(shown: _Table, one: Compared, basis: str) -> tuple[str, ...]:
    before, after = (
        [dollars(each.figures.get(figure)) for figure, _ in shown.figures] if each else []
        for each in (one.before, one.after)
    )
    marks = ", ".join(filter(None, (basis, "" if one.after else "deleted")))
    name = f"{one.name} ({marks})" if marks else one.name
    rise = one.change(shown.difference)
    return (name, *before_after(before, after), NOTHING if rise is None else change(rise))


def _total(shown: _Table, found: Sequence[Compared]) -> tuple[str, ...]:
    sides = [[each.before for each in found if each.before], [each.after for each in found if each.after]]
    before, after = ([_sum(side, figure) for figure, _ in shown.figures] if side else [] for side in sides)
    old, new = (total(side, shown.difference) for side in sides)
    rise = NOTHING if old.excluded or new.excluded else change(new.usd.high - old.usd.high)
    return ("together", *before_after(before, after), rise)


def _sum(side: Sequence[Estimate], figure: str) -> str:
    found = total(side, figure)
    if len(found.excluded) == len(side):
        return NOTHING
    return f"{'> ' if found.excluded else ''}{dollars(found.usd)}"
