"""Durations in settings: intervals (15m, 1h, 1d) and ages (36h, 30d, 8w)."""

import re
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator

from components.base import meant_value
from components.base.model import refuse

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}

_INTERVAL = re.compile(r"[1-9]\d{0,3}[mhd]")
_AGE = re.compile(r"[1-9]\d{0,4}[hdw]")


def _interval(value: str) -> str:
    return _checked(value, _INTERVAL, "mhd", "minutes, hours or days, such as 15m, 1h or 1d")


def _age(value: str) -> str:
    return _checked(value, _AGE, "hdw", "an age in hours, days or weeks, such as 36h, 30d or 8w")


def _checked(value: str, form: re.Pattern[str], units: str, rule: str) -> str:
    if not form.fullmatch(value):
        near = meant_value.duration(value, units)
        refuse(rule, near if form.fullmatch(near) else "")
    return value


Interval = Annotated[str, AfterValidator(_interval)]
Age = Annotated[str, AfterValidator(_age)]


def seconds(time: str) -> int:
    """An interval or an age in seconds."""
    return round(int(time[:-1]) * _UNITS[time[-1]].total_seconds())
