"""What a load test measured: a line, the latencies, and a plot of them over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tensorplane.cli.output import plots
from tensorplane.cli.output.numbers import latency
from tensorplane.cli.output.tables import table
from tensorplane.cli.serving.load import Answer, Plan, quantile, summary
from tensorplane.components.base.plural import number_of

_HEIGHT, _MOST_SLICES = 14, 60
_BEHIND = 0.95


def show(name: str, plan: Plan, answers: Sequence[Answer], console: Console) -> None:
    """Prints it in the terminal's width."""
    found = summary(answers)
    failed = sum(found.errors.values())
    line = f"{name}: {number_of(found.requests, 'request')}, {found.rate:.1f} answered per second, {failed} failed"
    console.print(Text(line, style="bold red" if failed else "bold"))
    for reason, count in list(found.errors.items())[:5]:
        console.print(Text(f"  {number_of(count, 'time')} {reason}", style="red"))
    values = [found.p50, found.p90, found.p99, found.longest]
    console.print("", table(("p50", "p90", "p99", "longest"), [tuple(map(latency, values))]))
    for row in plot(plan, answers, console.width):
        console.print(Text(row.rstrip(), no_wrap=True, overflow="crop"))
    if found.requests and found.rate < _BEHIND * plan.rate and not failed:
        console.print(
            f"The server fell behind {number_of(plan.rate, 'request')} per second; add replicas, or batching."
        )


def plot(plan: Plan, answers: Sequence[Answer], width: int) -> list[str]:
    """The latencies of each slice of time; empty without two slices."""
    slices = min(_MOST_SLICES, max(2, round(plan.seconds * 2)))
    length = plan.seconds / slices
    by_slice: dict[int, list[float]] = {}
    for each in answers:
        if not each.error:
            by_slice.setdefault(min(slices - 1, int(each.at / length)), []).append(each.millis)
    if len(by_slice) <= 1:
        return []
    times = [length * number for number in sorted(by_slice)]
    ordered = [sorted(by_slice[number]) for number in sorted(by_slice)]

    def draw(plot: Any) -> None:
        for part, name, marker in ((0.99, "p99", "braille"), (0.5, "p50", ".")):
            plot.plot(times, [quantile(one, part) or 0.0 for one in ordered], marker=marker, label=name)
        plot.ylim(0, None)
        plot.xlabel("seconds")
        plot.ylabel("ms")

    return ["", *plots.lines(width, _HEIGHT, draw)]
