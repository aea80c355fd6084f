"""What the stack costs before and after the update, and the difference: node groups, queues, training runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from cli.commands.preview import price_notes, shares, spending
from cli.commands.preview.report import Facts, Report
from cli.output import markdown as md
from cli.output.numbers import NOTHING, change, dollars
from cli.output.tables import table
from cli.output.texts import before_after
from components.base.price import Usd
from components.cost import pods
from components.cost.difference import Compared, difference, total
from components.cost.estimate import (
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
            for side, facts in zip(sides, both, strict=True):
                if facts:
                    side.append(_estimate(kind, name, facts, report.durations.get(name)))
    found = difference(*sides)
    return found if any(usd for each in found for one in _both(each) for usd in one.figures.values()) else []


def terminal(report: Report, _: int) -> Iterator[RenderableType]:
    """A table for each kind."""
    found = compared(report)
    if not found:
        return
    yield Text(f"cost: {spending.sentence(found)}".removesuffix(": "), style="bold")
    for each in _TABLES:
        if rows := _rows(each, found, report):
            yield table(_headings(each), rows, right=_headings(each)[1:])
            yield ""
    yield from (Text(line, style="dim") for line in (*unknown(found), price_notes.text(report)))
    yield ""


def markdown(report: Report) -> Iterator[str]:
    """The difference in bold, and a table for each kind."""
    found = compared(report)
    if not found:
        return
    yield "## Cost"
    if said := spending.sentence(found):
        only_if = "Merging saves nothing. " if report.removed else ""
        yield f"{only_if}**{_begun(report, said)}.** {_rest(found)}"
    for each in _TABLES:
        if rows := _rows(each, found, report):
            yield md.full_table(_headings(each), ([md.cell(cell) for cell in row] for row in rows))
    if lines := [*shares.lines(report), *unknown(found)]:
        yield md.bullets(lines)
    yield price_notes.text(report)


def _begun(report: Report, said: str) -> str:
    """The sentence on the difference, with the condition under which it comes."""
    return f"{report.when[0].upper()}{report.when[1:]}: {said}" if report.when else f"{said[0].upper()}{said[1:]}"


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
    lines = [f"{', '.join(several)}: {missing}" for missing, several in names.items()]
    likely = spending.expected(found)
    return [likely, *lines] if likely else lines


def _estimate(kind: Kind, name: str, facts: Facts, seconds: float | None) -> Estimate:
    found = registered(kind, name, facts.get("cost"))
    most = facts.get("hourlyUsdMax")
    if "cost" not in facts and most is not None:
        return Estimate(kind, name, {MAX: Usd(most, most)}, found.missing)
    return pods.lasting(found, seconds) if kind == "run" else found


def _both(one: Compared) -> list[Estimate]:
    return [each for each in (one.before, one.after) if each]


def _headings(shown: _Table) -> tuple[str, ...]:
    return (shown.heading, *(heading for _, heading in shown.figures), "difference")


def _rows(shown: _Table, found: Iterable[Compared], report: Report) -> list[tuple[str, ...]]:
    mine = [each for each in found if each.kind == shown.kind]
    groups = report.registered("NodeGroup") if shown.kind == "group" else {}
    rows = [_row(shown, each, price_notes.basis(*groups.get(each.name, ({}, {})))) for each in mine]
    if shown.kind == "group" and len(mine) > 1:
        rows.append(_total(shown, mine))
    return rows


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
