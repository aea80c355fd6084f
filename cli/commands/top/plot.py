"""A queue's history drawn in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from cli.commands.top.history import Point
from cli.output import plots

_HEIGHT = 9
_TICKS = 5
_WIDEST = 120
_DAY = 86400


def draw(points: Sequence[Point], width: int) -> Iterator[str]:
    """GPUs in use, if there were any, and below them the waiting jobs, over the same time."""
    size = min(width, _WIDEST)
    if any(point.gpus for point in points):
        yield from _plot("GPUs in use", points, [point.gpus for point in points], size)
    yield from _plot("jobs waiting", points, [point.waiting for point in points], size)


def _plot(title: str, points: Sequence[Point], values: Sequence[int], width: int) -> Iterator[str]:
    times, steps = _steps([point.at for point in points], values)
    most = max(*values, 1)

    def draw(plot: Any) -> None:
        plot.title(title)
        plot.plot(times, steps)
        plot.ylim(0, most)
        plot.yticks(sorted({0, most // 2, most}))
        plot.xticks(*_ticks(points[0].at, points[-1].at))

    yield from (line.rstrip() for line in plots.lines(width, _HEIGHT, draw))


def _steps(moments: Sequence[datetime], values: Sequence[int]) -> tuple[list[float], list[int]]:
    """A value holds until the next one: corners instead of slopes."""
    times: list[float] = []
    steps: list[int] = []
    for index, (at, value) in enumerate(zip(moments, values, strict=True)):
        if index:
            times.append(at.timestamp())
            steps.append(values[index - 1])
        times.append(at.timestamp())
        steps.append(value)
    return times, steps


def _ticks(start: datetime, end: datetime) -> tuple[list[float], list[str]]:
    length = (end - start) / (_TICKS - 1)
    shown = "%H:%M" if (end - start).total_seconds() <= _DAY else "%d. %H:%M"
    moments = [start + length * index for index in range(_TICKS)]
    return [moment.timestamp() for moment in moments], [f"{moment:{shown}}" for moment in moments]
