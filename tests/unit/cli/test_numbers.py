"""Latencies have three digits and no exponent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.cli.output.numbers import latency


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(None, "-"), (0.304, "0.304 ms"), (5.94, "5.94 ms"), (999.4, "999 ms"), (999.6, "1 s"), (1262.0, "1.26 s")],
)
def test_a_latency_from_a_second_on_is_in_seconds(milliseconds: float | None, text: str) -> None:
    assert latency(milliseconds) == text


@given(st.floats(0.1, 500_000))
def test_a_latency_has_no_exponent(milliseconds: float) -> None:
    assert "e+" not in latency(milliseconds)
