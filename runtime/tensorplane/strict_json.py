"""JSON in the values of records, as RFC 8259 has it between programs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from tensorplane.errors import TensorplaneError


class InvalidJson(TensorplaneError, ValueError):
    """A record's value is missing, or is no JSON."""


def parse(value: bytes) -> Any:
    """What the JSON says. Raises InvalidJson for anything else: also for what Python would read and others would not,
    such as UTF-16, a byte order mark or NaN, and for numbers that are infinite in 64 bits, such as 1e400.
    """
    return _loaded(value, fraction=_finite)


def check(value: bytes) -> None:
    """Raises InvalidJson as `parse` does, but takes numbers of any length, which Python's `int` does not."""
    _loaded(value, whole=str, fraction=str)


def _loaded(value: bytes, *, fraction: Callable[[str], Any], whole: Callable[[str], Any] | None = None) -> Any:
    """`whole`, `fraction`: what makes a number of its text; without `whole`, Python's own integers."""
    try:
        return json.loads(value.decode(), parse_constant=_refuse, parse_int=whole, parse_float=fraction)
    except RecursionError as error:
        raise InvalidJson("it is nested too deep") from error


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise InvalidJson(f"{text[:20]} is too large for a number of 64 bits")
    return number


def _refuse(name: str) -> None:
    raise InvalidJson(f"{name} is no number of JSON")
