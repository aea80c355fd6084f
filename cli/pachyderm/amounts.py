"""Durations of Go and sizes, as specs have them."""

from __future__ import annotations

import math
import re

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(r"([0-9]*\.?[0-9]+)(ns|us|µs|ms|s|m|h)")
_SIZE = re.compile(r"([0-9]*\.?[0-9]+)\s*([kKMGTPE]?)(i?)B?")
_PREFIXES = ("", "K", "M", "G", "T", "P", "E")


def seconds(duration: str) -> int | None:
    """The seconds of a duration such as 1h30m, rounded up, at least 1; None if it is none."""
    parts = _DURATION.findall(duration)
    if not parts or "".join(f"{number}{unit}" for number, unit in parts) != duration:
        return None
    return max(1, math.ceil(sum(float(number) * _SECONDS[unit] for number, unit in parts)))


def memory(text: str) -> int | None:
    """The bytes of memory such as 4G, 4Gi or 256MB; None if it is none."""
    found = _SIZE.fullmatch(text.strip())
    return _bytes(found[1], found[2], 1024 if found[3] else 1000) if found else None


def data(text: str) -> int | None:
    """The bytes of a trigger's size such as 10M or 10mb; None if it is none. In these, a K is 1000 with an i, too."""
    found = re.compile(_SIZE.pattern, re.IGNORECASE).fullmatch(text.strip())
    return _bytes(found[1], found[2], 1000) if found else None


def _bytes(number: str, prefix: str, thousand: int) -> int:
    return math.ceil(float(number) * pow(float(thousand), _PREFIXES.index(prefix.upper())))
