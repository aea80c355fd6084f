"""Suggestions for numbers with a unit, and for words such as yes and no."""

import re

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]*)")
_GIBIBYTES = {"m": 1 / 1024, "g": 1, "t": 1024}
_WORDS = {**dict.fromkeys(("yes", "y", "on"), "true"), **dict.fromkeys(("no", "n", "off"), "false")}


def number(given: object, key: str, *, integer: bool = False) -> str:
    """The number in the key's unit; empty if it is unclear. `integer`: the setting accepts no fractions."""
    text = str(given).strip()
    found = _QUANTITY.fullmatch(text.lower())
    if not found:
        return ""
    value, unit = float(found[1]), found[2]
    if key.lower().endswith("gib") and unit[:1] in _GIBIBYTES and unit[1:] in ("", "i", "b", "ib"):
        value *= _GIBIBYTES[unit[:1]]
    elif key.lower().endswith("cpus") and text.endswith("m"):
        value /= 1000
    else:
        return ""
    return "" if integer and not value.is_integer() else f"{value:.12g}"


def boolean(given: object) -> str:
    """`true` or `false`; empty if it is unclear."""
    return _WORDS.get(str(given).lower(), "")
