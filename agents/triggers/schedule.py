"""Whether a schedule was due in a span of time. Times are minutes since 1970, in UTC."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Sequence

_LONGEST_MINUTES = 366 * 24 * 60
"""After a longer pause, earlier times are not looked for."""
_DAY, _WEEKDAY = 2, 4
_DIGITS = 16


def digest_of(schedule: Sequence[Collection[int] | None]) -> str:
    """A digest of a schedule, to see whether it was changed."""
    text = json.dumps([None if allowed is None else sorted(allowed) for allowed in schedule])
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def last_due(schedule: Sequence[Collection[int] | None], after: int, until: int) -> int | None:
    """The last minute that matches, later than `after` and not later than `until`; None if there is none."""
    for minute in range(until, max(after, until - _LONGEST_MINUTES), -1):
        if matches(schedule, minute):
            return minute
    return None


def matches(schedule: Sequence[Collection[int] | None], minute: int) -> bool:
    """Whether cron would run. With both a day of the month and a day of the week, it runs on either."""
    at = time.gmtime(minute * 60)
    values = (at.tm_min, at.tm_hour, at.tm_mday, at.tm_mon, (at.tm_wday + 1) % 7)
    met = [allowed is None or value in allowed for allowed, value in zip(schedule, values, strict=True)]
    if schedule[_DAY] is not None and schedule[_WEEKDAY] is not None:
        met[_DAY] = met[_WEEKDAY] = met[_DAY] or met[_WEEKDAY]
    return all(met)
