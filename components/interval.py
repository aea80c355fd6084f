"""How often something is done, as people write it: 15m, 1h, 1d."""

import re
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator

from components.model import refuse

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


def _interval(value: str) -> str:
    if not re.fullmatch(r"[1-9]\d{0,3}[mhd]", value):
        refuse("minutes, hours or days, such as 15m, 1h or 1d")
    return value


Interval = Annotated[str, AfterValidator(_interval)]


def seconds(interval: str) -> int:
    """The same in seconds."""
    return round(int(interval[:-1]) * _UNITS[interval[-1]].total_seconds())
