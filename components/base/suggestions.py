"""Suggestions for numbers and times with a unit, and for words such as yes and no."""

import re

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]*|%)")
_GIBIBYTES = {"m": 1 / 1024, "g": 1, "t": 1024}
_PARTS = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]+) ?")
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_SECONDS = {
    **dict.fromkeys(("ms", "millis", "milliseconds"), 0.001),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), _MINUTE),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), _HOUR),
    **dict.fromkeys(("d", "day", "days"), _DAY),
    **dict.fromkeys(("w", "week", "weeks"), 7 * _DAY),
    **dict.fromkeys(("y", "year", "years"), 365 * _DAY),
}
_TIMES = {"milliseconds": 0.001, "millis": 0.001, "seconds": 1, "minutes": _MINUTE, "hours": _HOUR, "days": _DAY}
"""How keys of times end, and their unit in seconds."""
_PERCENTAGES = ("percent", "cpu")
"""Keys of whole numbers that are percentages."""
_WORDS = {**dict.fromkeys(("yes", "y", "on"), "true"), **dict.fromkeys(("no", "n", "off"), "false")}


def number(given: object, key: str, *, integer: bool = False) -> str:
    """The number in the key's unit; empty if it is unclear. `integer`: the setting accepts no fractions."""
    text = str(given).strip()
    found = _QUANTITY.fullmatch(text.lower())
    if not found:
        return _written(_seconds(text) / _unit(key), integer) if _unit(key) and _seconds(text) else ""
    value, unit = float(found[1]), found[2]
    if key.lower().endswith("gib") and unit[:1] in _GIBIBYTES and unit[1:] in ("", "i", "b", "ib"):
        value *= _GIBIBYTES[unit[:1]]
    elif key.lower().endswith("cpus") and text.endswith("m"):
        value /= 1000
    elif unit == "%" and not key.lower().endswith("gib"):
        value /= 1 if key in _PERCENTAGES else 100
    elif (time := _unit(key)) and unit in _SECONDS:
        value = _seconds(text) / time
    elif len(unit) < 3 or unit.removesuffix("s") not in key.lower():
        return ""
    return _written(value, integer)


def _written(value: float, integer: bool) -> str:
    return "" if integer and not value.is_integer() else f"{value:.12g}"


def _seconds(text: str) -> float:
    """A time in one unit or several, such as `1h30m`; 0 if it is none."""
    found, left = _PARTS.findall(text.lower()), _PARTS.sub("", text.lower())
    is_time = found and not left and all(unit in _SECONDS for _, unit in found)
    return sum(float(number) * _SECONDS[unit] for number, unit in found) if is_time else 0


def _unit(key: str) -> float:
    """The unit of a key for a time, in seconds; 0 for other keys."""
    return next((seconds for end, seconds in _TIMES.items() if key.lower().endswith(end)), 0)


def duration(text: str, units: str) -> str:
    """A time in words or another unit as a number with one of these letters, the largest that fits; empty if it is
    unclear or none does.
    """
    seconds = _seconds(text.strip())
    fitting = [unit for unit in units if seconds and not seconds % _SECONDS[unit]]
    largest = max(fitting, key=_SECONDS.__getitem__, default="")
    return f"{seconds / _SECONDS[largest]:.0f}{largest}" if largest else ""


def boolean(given: object) -> str:
    """`true` or `false`; empty if it is unclear."""
    return _WORDS.get(str(given).lower(), "")
