"""What a job or a sweep asks for, in words, with what that costs."""

from __future__ import annotations

from typing import Protocol

from cli.output.numbers import unit_price
from components.base.plural import counted
from components.base.price import Usd


class Size(Protocol):
    """What is submitted asks for."""

    @property
    def pods(self) -> int:
        """All of its pods."""

    @property
    def gpus(self) -> int:
        """GPUs of all of them."""

    @property
    def hourly(self) -> Usd | None:
        """What they cost; None if a price is unknown."""


def size_text(planned: Size) -> str:
    """What a job asks for, and what that costs."""
    gpus = f", {counted(planned.gpus, 'GPU')}" if planned.gpus else ""
    return f"{counted(planned.pods, 'pod')}{gpus}, {_price(planned.hourly)}"


def _price(hourly: Usd | None) -> str:
    if hourly is None:
        return "price unknown"
    low, high = unit_price(hourly.low), unit_price(hourly.high)
    return f"about ${low} per hour" if low == high else f"about ${low} to ${high} per hour"
