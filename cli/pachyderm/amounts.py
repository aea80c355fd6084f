"""Durations of Go and sizes, as specs have them."""

from __future__ import annotations

import math
import re

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(r"([0-9]*\.?[0-9]+)(ns|us|µs|ms|s|m|h)")
_SIZE = re.compile(r"([0-9]*\.?[0-9]+)\s*([kKMGTPE]?)(i?)B?")
_PREFIXES = ("", "K", "M", "G", "T", "P", "E")
_THOUSAND, _1024 = 1000, 1024


def seconds(duration: str) -> int | None:
    """The seconds of a duration such as 1h30m, rounded up, at least 1; None if it is none."""
    parts = _DURATION.findall(duration)
    if not parts or "".join(f"{number}{unit}" for number, unit in parts) != duration:
        return None
    return max(1, math.ceil(sum(float(number) * _SECONDS[unit] for number, unit in parts)))


def size(text: str, *, decimal: bool = True) -> int | None:
    """The bytes of a size such as 4G, 4Gi or 256MB; None if it is none. `decimal`: whether K is 1000 without an i."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    number, prefix, binary = found.groups()
    base = _THOUSAND if decimal and not binary else _1024
    return math.ceil(float(number) * pow(float(base), _PREFIXES.index(prefix.upper())))
