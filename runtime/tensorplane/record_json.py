"""JSON in the values of records, as RFC 8259 has it between programs."""

from __future__ import annotations

import json
from typing import Any


def parsed(value: bytes) -> Any:
    """What the JSON says. Raises ValueError for anything else: also for what Python would read and others would not,
    such as UTF-16, a byte order mark or NaN.
    """
    try:
        return json.loads(value.decode(), parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
