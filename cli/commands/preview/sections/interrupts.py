"""What the update breaks, which gates it weakens, and what it interrupts: this last line is always there."""

from __future__ import annotations

from collections.abc import Iterator

from cli.commands.preview import gates, interruptions, mounts
from cli.commands.preview.report import Report
from cli.output.texts import first

_MOST = 8


def terminal(report: Report, _: int) -> Iterator[str]:
    """Nothing: what restarts has lines of its own, at the end."""
    yield from ()


def markdown(report: Report) -> Iterator[str]:
    """One line each; none for a preview that failed before the first change."""
    when = f", {report.when}" if report.when else ""
    if found := mounts.broken(report):
        yield f"**Breaks{when}:** {first(found, _MOST, between='; ')}."
    if weakened := list(gates.weakened(report)):
        yield f"**Weakens{when}:** {first(weakened, _MOST, between='; ')}."
    if report.changes or not report.failed:
        yield f"**Interrupts{when}:** {first(interruptions.of(report), _MOST, between='; ') or 'nothing'}."
