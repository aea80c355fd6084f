"""Schedules of triggers: the minutes that cron would run at."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.agents.triggers.decide import last_scheduled, matches
from tensorplane.components.base import cron


def _minute(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) // 60


@pytest.mark.parametrize(
    ("schedule", "runs", "not_then"),
    [
        ("0 2 * * *", "2026-11-26T02:00", "2026-11-26T02:01"),
        ("*/15 * * * *", "2026-11-26T10:45", "2026-11-26T10:46"),
        ("0 0 1 1 *", "2027-01-01T00:00", "2026-12-01T00:00"),
        # A Thursday, and with a day of the month on either.
        ("30 6 * * thu", "2026-11-26T06:30", "2026-11-27T06:30"),
        ("30 6 1 * thu", "2026-12-01T06:30", "2026-12-02T06:30"),
        ("0 0 * * 0", "2026-11-29T00:00", "2026-11-28T00:00"),
        # A list of all days of one kind is no star, so either matches.
        ("0 0 1-31 * mon", "2026-11-26T00:00", "2026-11-26T00:01"),
        ("0 0 1 * 0-6", "2026-11-26T00:00", "2026-11-26T00:01"),
        # A star with step 1 is one.
        ("0 0 */1 * mon", "2026-11-30T00:00", "2026-11-26T00:00"),
    ],
)
def test_it_matches_as_cron_does(schedule: str, runs: str, not_then: str) -> None:
    fields = cron.fields(schedule)
    assert matches(fields, _minute(runs))
    assert not matches(fields, _minute(not_then))


@given(minute=st.integers(1, 59), pause=st.integers(0, 10_000), start=st.integers(10**6, 10**7))
def test_the_last_time_in_a_pause_is_found(minute: int, pause: int, start: int) -> None:
    fields = cron.fields(f"{minute} * * * *")
    times = [at for at in range(start + 1, start + pause + 1) if at % 60 == minute]
    assert last_scheduled(fields, start, start + pause) == (times[-1] if times else None)
