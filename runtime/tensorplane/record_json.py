"""JSON in the values of records, as RFC 8259 has it between programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def parsed(value: bytes) -> Any:
    """What the JSON says. Raises ValueError for anything else: also for what Python would read and others would not,
    such as UTF-16, a byte order mark or NaN.
    """
    return _loaded(value)


def check(value: bytes) -> None:
    """Raises ValueError as `parsed` does, but takes numbers of any length, which Python's `int` does not."""
    _loaded(value, str)


def _loaded(value: bytes, number: Callable[[str], Any] | None = None) -> Any:
    """`number`: what makes a number of its text; by default Python's own."""
    try:
        return json.loads(value.decode(), parse_constant=_refuse, parse_int=number, parse_float=number)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
