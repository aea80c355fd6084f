"""Loss and speed of a run over its steps, from the lines of its chief's log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tensorplane.cli.output import plots
from tensorplane.cli.training_jobs.progress import decimal
from tensorplane.driver.runs import log_line

_HEIGHT = 12
_LEAST_POINTS = 3
_NARROW = 60
_GAP = 3


@dataclass(frozen=True)
class Point:
    """One report of the library."""

    step: int
    loss: float | None
    steps_per_second: float


def points(lines: Iterable[str]) -> list[Point]:
    """The reports among these lines. After a restart, steps that were trained again replace the former ones."""
    found: dict[int, Point] = {}
    for line in lines:
        values = log_line.parse(line)
        if "steps_per_second" not in values or not values.get("step", "").isdecimal():
            continue
        step = int(values["step"])
        found = {at: point for at, point in found.items() if at < step}
        found[step] = Point(step, decimal(values.get("loss")), float(values["steps_per_second"]))
    return list(found.values())


def draw(found: Sequence[Point], width: int) -> list[str]:
    """Loss and speed as two plots beside each other, or below each other in a narrow terminal."""
    losses = [(point.step, point.loss) for point in found if point.loss is not None]
    is_wide = width >= 2 * _NARROW
    drawn = [
        _plot(series, title, (width - _GAP) // 2 if is_wide else width)
        for series, title in ((losses, "loss"), ([(point.step, point.steps_per_second) for point in found], "steps/s"))
        if len(series) >= _LEAST_POINTS
    ]
    if len(drawn) == 2 and is_wide:
        return [f"{left}{' ' * _GAP}{right}" for left, right in zip(*drawn, strict=True)]
    return [line for plot in drawn for line in plot]


def _plot(series: Sequence[tuple[int, float]], title: str, width: int) -> list[str]:
    def draw(plot: Any) -> None:
        plot.plot([step for step, _ in series], [value for _, value in series], marker="braille")
        plot.title(title)
        plot.xticks(_ticks(series[0][0], series[-1][0]))
        plot.xlabel("step")

    return [line.ljust(width) for line in plots.lines(width, _HEIGHT, draw)]


def _ticks(first: int, last: int) -> list[int]:
    """Whole steps from the first to the last, evenly."""
    return sorted({round(first + (last - first) * part / 4) for part in range(5)})
