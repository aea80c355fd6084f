"""Quantities are read as Kubernetes reads them; sizes for people have three digits and no exponent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils import parse_quantity

from tensorplane.components.base.quantities import GIB, exact, size


def test_a_size_just_below_1000_units_is_written_out() -> None:
    assert size(int(999.7 * GIB)) == "1000 GiB"


@given(st.integers(0, 1 << 50))
def test_a_size_has_no_exponent(count: int) -> None:
    assert "e+" not in size(count)


_NUMBERS = st.from_regex(r"[+-]?([0-9]{1,6}(\.[0-9]{0,6})?|\.[0-9]{1,6})", fullmatch=True)
_ENDS = st.one_of(
    st.sampled_from(["", *"numkMGTPE", *(f"{each}i" for each in "KMGTPE")]),
    st.from_regex(r"[eE][+-]?[0-9]{1,2}", fullmatch=True),
)


@given(_NUMBERS, _ENDS)
def test_a_number_is_that_of_kubernetes_own_client(number: str, end: str) -> None:
    assert exact(number + end) == parse_quantity(number + end)


@pytest.mark.parametrize("text", ["", "1x", "Gi", "1 Gi", "1GiB", "1ki", "--1", "0x1"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity of Kubernetes"):
        exact(text)
