"""How many jobs waited and how many GPUs were in use over time, from the times in Workloads, and the plot of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tensorplane.cli.kueue.workloads import Work
from tensorplane.cli.output import plots


@dataclass(frozen=True)
class Span:
    """A job that waited, or held GPUs, for a while."""

    start: datetime
    end: datetime
    waits: bool
    gpus: int


@dataclass(frozen=True)
class Point:
    """The state from a moment on."""

    at: datetime
    waiting: int
    gpus: int


def spans(work: Work, now: datetime) -> Iterator[Span]:
    """A Workload's recorded past: its last admission, or its last eviction."""
    created, ran = work.created or now, work.ran_before
    end = work.finished.since or now if work.finished.holds else now
    if work.reserved.holds and work.reserved.since:
        yield Span(created, work.reserved.since, True, 0)
        yield Span(work.reserved.since, end, False, work.gpus)
    elif work.evicted.holds and work.evicted.since and ran:
        began = max(work.evicted.since - timedelta(seconds=ran), created)
        yield Span(created, began, True, 0)
        yield Span(began, work.evicted.since, False, work.gpus)
        yield Span(work.evicted.since, end, True, 0)
    else:
        yield Span(created, end, True, 0)


def history(works: Sequence[Work], since: datetime, now: datetime) -> list[Point]:
    """A point per change, the first at `since`, the last at `now`."""
    changes: dict[datetime, tuple[int, int]] = {since: (0, 0)}
    for work in works:
        for span in spans(work, now):
            if span.start < span.end and since < span.end:
                _add(changes, max(span.start, since), span, 1)
                if span.end < now:
                    _add(changes, span.end, span, -1)
    waiting, gpus, points = 0, 0, []
    for at, (more_waiting, more_gpus) in sorted(changes.items()):
        waiting, gpus = waiting + more_waiting, gpus + more_gpus
        points.append(Point(at, waiting, gpus))
    return [*points, Point(now, waiting, gpus)]


def _add(changes: dict[datetime, tuple[int, int]], at: datetime, span: Span, sign: int) -> None:
    waiting, gpus = changes.get(at, (0, 0))
    changes[at] = (waiting + sign * span.waits, gpus + sign * span.gpus)


_HEIGHT = 9
_TICKS = 5
_WIDEST = 120
_DAY = 86400


def draw_history(points: Sequence[Point], width: int) -> Iterator[str]:
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
