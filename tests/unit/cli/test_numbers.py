"""Latencies and sizes have three digits and no exponent, whatever they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.output.times import latency
from components.base.quantities import GIB, size


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(None, "-"), (0.304, "0.304 ms"), (5.94, "5.94 ms"), (999.4, "999 ms"), (999.6, "1 s"), (1262.0, "1.26 s")],
)
def test_a_latency_from_a_second_on_is_in_seconds(milliseconds: float | None, text: str) -> None:
    assert latency(milliseconds) == text


def test_a_size_just_below_1000_units_is_written_out() -> None:
    assert size(int(999.7 * GIB)) == "1000 GiB"


@given(st.floats(0.1, 500_000), st.integers(0, 1 << 50))
def test_no_exponent_is_printed(milliseconds: float, count: int) -> None:
    assert "e+" not in latency(milliseconds) + size(count)
