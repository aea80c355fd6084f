"""Texts of cells and sentences."""

from __future__ import annotations

from collections.abc import Sequence


def first(names: Sequence[str], most: int, *, between: str = ", ", rest: str = " and ") -> str:
    """Names; of many, the first ones and the number of the others."""
    more = len(names) - most
    return between.join(names[:most]) + (f"{rest}{more} more" if more > 0 else "")


def before_after(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """Cells before and after a change, as `before → after` if they differ. One of the two may be empty."""
    if not (before and after):
        return tuple(before or after)
    return tuple(old if old == new else f"{old} → {new}" for old, new in zip(before, after, strict=True))
