"""Amounts in messages: the largest by name, and the others as one sum."""

from __future__ import annotations

from collections.abc import Mapping

MAX_NAMES = 5
"""How many amounts a message names if there are more."""


def largest_first(amounts: Mapping[str, float]) -> str:
    """The amounts, from the largest: `a: 8, b: 4`, or the five largest and the number of the others."""
    rows = sorted(((amount, name) for name, amount in amounts.items() if amount), key=lambda row: (-row[0], row[1]))
    shown = [f"{name}: {amount:.12g}" for amount, name in rows[: MAX_NAMES if len(rows) > MAX_NAMES + 1 else len(rows)]]
    others = [amount for amount, _ in rows[len(shown) :]]
    return ", ".join([*shown, *([f"and {len(others)} more with {sum(others):.12g}"] if others else [])])
