"""How many jobs waited and how many GPUs were in use over time, from the times that Workloads themselves keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cli.kueue.workloads import Work


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
