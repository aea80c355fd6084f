"""Cron schedules of five fields: their validation, and their translation to AWS."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MACROS: Mapping[str, str] = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MOST_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True)
class _Field:
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 6, _DAYS),
)
_DAY_PLACES = (2, 4)
_EXAMPLE = "0 * * * * for every hour"


def problem(schedule: str) -> str | None:
    """What a schedule must have, if it is invalid; None if Kubernetes accepts it and it ever runs."""
    parts = MACROS.get(schedule, schedule).split()
    if len(parts) != len(_FIELDS):
        return f"five fields in UTC (minute, hour, day of the month, month, day of the week) such as {_EXAMPLE}"
    for field, part in zip(_FIELDS, parts, strict=True):
        try:
            set(_values(field, part))
        except ValueError:
            return f"{field.low} to {field.high} for the {field.name} ({part!r} is not valid in cron)"
    if not _happens(parts):
        return "a day that exists in its months"
    return None


def _happens(parts: list[str]) -> bool:
    """Whether any day matches. With both a day of the month and a day of the week, cron runs on either."""
    if parts[2] in ("*", "?") or parts[4] not in ("*", "?"):
        return True
    first = min(_values(_FIELDS[2], parts[2]))
    return any(first <= _MOST_DAYS[month - 1] for month in _values(_FIELDS[3], parts[3]))


def _values(field: _Field, part: str) -> Iterator[int]:
    """The values of a field. Raises ValueError if it is invalid."""
    for item in part.split(","):
        span, slash, step = item.partition("/")
        low, high = _span(field, span, open_end=bool(slash))
        every = _number(step, 1, field.high) if slash else 1
        yield from range(low, high + 1, every)


def _span(field: _Field, span: str, *, open_end: bool) -> tuple[int, int]:
    if span in ("*", "?"):
        return field.low, field.high
    first, dash, last = span.partition("-")
    low = _value(field, first)
    high = _value(field, last) if dash else (field.high if open_end else low)
    if low > high:
        raise ValueError(span)
    return low, high


def _value(field: _Field, text: str) -> int:
    if text.lower() in field.names:
        return field.names.index(text.lower()) + field.low
    return _number(text, field.low, field.high)


def _number(text: str, low: int, high: int) -> int:
    if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
        raise ValueError(text)
    return int(text)


def fields(schedule: str) -> list[tuple[int, ...] | None]:
    """The values of each field of a valid schedule, in order; None for every value. Where neither day field has a star,
    cron runs on either, so that every value of one is not as good as none.
    """
    parts = MACROS.get(schedule, schedule).split()
    found = [tuple(sorted(set(_values(field, part)))) for field, part in zip(_FIELDS, parts, strict=True)]
    either = not any(_has_star(parts[position]) for position in _DAY_PLACES)
    day_fields = _DAY_PLACES if either else ()
    return [
        None if len(one) > field.high - field.low and position not in day_fields else one
        for position, (field, one) in enumerate(zip(_FIELDS, found, strict=True))
    ]


def _has_star(part: str) -> bool:
    return any(item.removesuffix("/1") in ("*", "?") for item in part.split(","))


def for_aws(schedule: str) -> str:
    """A valid schedule in AWS' syntax: with a year, days of the week from 1, and `?` for one of the two day fields."""
    minute, hour, day, month, weekday = MACROS.get(schedule, schedule).upper().split()
    if weekday in ("*", "?"):
        return f"cron({minute} {hour} {day.replace('?', '*')} {month} ? *)"
    days = ",".join(str(value + 1) for value in sorted(set(_values(_FIELDS[4], weekday))))
    return f"cron({minute} {hour} ? {month} {days} *)"


def both_days(schedule: str) -> bool:
    """Whether it restricts days of the month and of the week, which AWS does not support."""
    _, _, day, _, weekday = MACROS.get(schedule, schedule).split()
    return day not in ("*", "?") and weekday not in ("*", "?")
