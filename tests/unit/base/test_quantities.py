"""Sizes have three digits and no exponent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tensorplane.components.base.quantities import GIB, size


def test_a_size_just_below_1000_units_is_written_out() -> None:
    assert size(int(999.7 * GIB)) == "1000 GiB"


@given(st.integers(0, 1 << 50))
def test_a_size_has_no_exponent(count: int) -> None:
    assert "e+" not in size(count)
