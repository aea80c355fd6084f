"""Numbers for people."""

from __future__ import annotations

from collections.abc import Iterable

from tensorplane.components.base.price import Usd

NOTHING = "-"
_HALF_A_CENT = 0.005


def count(number: float, *, cores: bool = False) -> str:
    """A number of accelerators, or of cores; a dash for none."""
    unit = (" core" if number == 1 else " cores") if cores else ""
    return f"{number:g}{unit}" if number else NOTHING


def span(numbers: Iterable[float]) -> str:
    """Minimum and maximum: 2-8, or one number if they are equal."""
    found = sorted(set(numbers))
    return f"{found[0]:g}" if len(found) == 1 else f"{found[0]:g}-{found[-1]:g}"


def unit_price(dollars: float | None) -> str:
    """The hourly price of one machine: in cents, or with three digits below a dollar."""
    if dollars is None:
        return NOTHING
    return f"{dollars:.2f}" if dollars >= 1 else f"{dollars:.3g}"


def cost(dollars: float | None) -> str:
    """The hourly price of many machines, in cents."""
    return NOTHING if dollars is None else f"{dollars:,.2f}"


def spent(usd: Usd | None) -> str:
    """Dollars, in cents below a hundred, or from and to where the nodes differ in price: $1,200-1,400."""
    if usd is None:
        return NOTHING
    low, high = (f"{dollars:,.{0 if usd.high >= 100 else 2}f}" for dollars in (usd.low, usd.high))
    return f"${low}" if low == high else f"${low}-{high}"


def latency(milliseconds: float | None) -> str:
    """A latency in three digits, from 1,000 ms on in seconds: 5.94 ms, 1.26 s; a dash for none."""
    if milliseconds is None:
        return NOTHING
    return f"{milliseconds:.3g} ms" if milliseconds < 999.5 else f"{milliseconds / 1000:.3g} s"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 not in (11, 12, 13) else 0, "th")
    return f"{number}{ending}"


def dollars(usd: Usd | None) -> str:
    """Dollars in cents without the sign, from and to where they differ; a dash where they are unknown."""
    if usd is None:
        return NOTHING
    low, high = f"{usd.low:,.2f}", f"{usd.high:,.2f}"
    return low if low == high else f"{low}-{high}"


def change(rise: float) -> str:
    """How much more or less: +$1.20, -$0.50."""
    if abs(rise) < _HALF_A_CENT:
        return "same"
    return f"{'+' if rise > 0 else '-'}${abs(rise):,.2f}"
