"""Times for people."""

from __future__ import annotations

from datetime import datetime

_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def age(then: datetime | None, now: datetime) -> str:
    """An age in the largest unit of which at least two have passed: 90 min, 36 h, 14 d."""
    if then is None:
        return "-"
    seconds = max(int((now - then).total_seconds()), 0)
    unit, length = next((each for each in _UNITS if seconds >= 2 * each[1]), _UNITS[-1])
    return f"{seconds // length} {unit}"


def duration(seconds: float) -> str:
    """A duration in the largest unit of which there are at least two, rounded up: 90 min, 36 h, 14 d."""
    unit, length = next((each for each in _UNITS if seconds >= 2 * each[1]), _UNITS[-1])
    return f"{-(-int(seconds) // length)} {unit}"


def latency(milliseconds: float | None) -> str:
    """A latency with three digits, in seconds from 1,000 ms on: 5.9 ms, 1.26 s; a dash for none."""
    if milliseconds is None:
        return "-"
    return f"{milliseconds:.3g} ms" if milliseconds < 999.5 else f"{milliseconds / 1000:.3g} s"
