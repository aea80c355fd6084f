"""Durations in settings: intervals (15m, 1h, 1d) and ages (36h, 30d, 8w)."""

import re
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator

from components.base.model import refuse

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def _interval(value: str) -> str:
    if not re.fullmatch(r"[1-9]\d{0,3}[mhd]", value):
        refuse("minutes, hours or days, such as 15m, 1h or 1d")
    return value


def _age(value: str) -> str:
    if not re.fullmatch(r"[1-9]\d{0,4}[hdw]", value):
        refuse("an age in hours, days or weeks, such as 36h, 30d or 8w")
    return value


Interval = Annotated[str, AfterValidator(_interval)]
Age = Annotated[str, AfterValidator(_age)]


def seconds(time: str) -> int:
    """An interval or an age in seconds."""
    return round(int(time[:-1]) * _UNITS[time[-1]].total_seconds())
