"""Ages and durations for people."""

from __future__ import annotations

from datetime import datetime

_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def age(then: datetime | None, now: datetime) -> str:
    """An age in the largest unit of which at least two have passed: 90 min, 36 h, 14 d."""
    if then is None:
        return "-"
    return duration((now - then).total_seconds())


def duration(seconds: float) -> str:
    """A duration in the largest unit of which there are at least two, rounded down: 90 min, 36 h, 14 d. So what took a
    part of a time is never shown as longer."""
    whole = max(int(seconds), 0)
    unit, length = next((each for each in _UNITS if whole >= 2 * each[1]), _UNITS[-1])
    return f"{whole // length} {unit}"


def elapsed(seconds: float) -> str:
    """How long a step took, in seconds: `0.4 s`, `12 s`, `5 min 9 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"
