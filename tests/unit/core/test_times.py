"""Times for people: what took a part of a time is never shown as longer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tensorplane.core.times import age, duration, elapsed

_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_NOW = datetime(2026, 11, 29, tzinfo=UTC)


def _shown(seconds: float) -> int:
    number, unit = duration(seconds).split()
    return int(number) * _UNITS[unit]


def test_a_longer_duration_is_never_shown_as_a_shorter_one() -> None:
    shown = [_shown(seconds) for seconds in [*range(0, 10_000, 7), *range(10_000, 400_000, 997)]]
    assert shown == sorted(shown)


@pytest.mark.parametrize("seconds", [0, 0.9, 59, 125, 130, 7199, 7201, 100_000, 172_801])
def test_a_stage_of_a_run_takes_no_longer_than_the_run_is_old(seconds: float) -> None:
    assert age(_NOW - timedelta(seconds=seconds), _NOW) == duration(seconds)


def test_a_clock_that_is_behind_shows_nothing_yet() -> None:
    assert age(_NOW + timedelta(seconds=5), _NOW) == duration(-5) == "0 s"


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.44, "0.4 s"), (12.3, "12 s"), (59.6, "1 min 0 s"), (309.2, "5 min 9 s")]
)
def test_the_time_of_a_step_is_in_seconds(seconds: float, said: str) -> None:
    assert elapsed(seconds) == said
