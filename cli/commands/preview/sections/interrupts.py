"""What the update breaks, which gates it weakens, what it interrupts, which is always there, and what it replaces."""

from __future__ import annotations

from collections.abc import Iterator

from cli.commands.preview import gates, interruptions, mounts
from cli.commands.preview.head import Block
from cli.commands.preview.report import Report
from cli.commands.preview.sections import summary
from cli.output import aggregated


def terminal(report: Report, _: int) -> Iterator[str]:
    """Nothing: what restarts has lines of its own, at the end."""
    yield from ()


def head(report: Report) -> Iterator[Block]:
    """One sentence each; none for a preview that failed before the first change."""
    when = f", {report.when}" if report.when else ""
    if found := mounts.broken(report):
        yield Block("Breaks", aggregated.lines(found, report.names), when=when)
    if weakened := list(gates.weakened(report)):
        yield Block("Weakens", aggregated.lines(weakened, report.names), when=when)
    if report.changes or not report.failed:
        found = aggregated.lines(interruptions.of(report), report.names)
        # A comparison with the merge base does not know what runs.
        runs = ", if it runs" if report.compared_with and found else ""
        yield Block("Interrupts", found or ["nothing"], when=when or runs)
    if replaced := list(summary.replaced(report)):
        yield Block("Replaces", replaced, when=when)
