"""Variables whose values name others, which Kubernetes replaces only if they come before."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from tensorplane.workloads.pods.variables import in_order


def _replaced(variables: list[dict[str, Any]]) -> dict[str, str]:
    """What a program gets of variables in this order, as Kubernetes' API describes it."""
    found: dict[str, str] = {}

    def one(named: re.Match[str]) -> str:
        return "$" if named[0] == "$$" else found.get(named[1], named[0])

    for each in variables:
        found[each["name"]] = re.sub(r"\$\$|\$\(([^)]*)\)", one, each.get("value", "secret"))
    return found


_VALUES = {"A": "$(B)/$(C)", "B": "$(D)b", "C": "$$(D)", "D": "d", "E": "$(F)$(HOME)", "F": None}


@pytest.mark.parametrize("names", list(itertools.islice(itertools.permutations(_VALUES), 0, None, 37)))
def test_a_variable_has_the_values_of_those_that_it_names(names: tuple[str, ...]) -> None:
    given = [{"name": name, **({"value": value} if (value := _VALUES[name]) else {})} for name in names]
    expected = {"A": "db/$(D)", "B": "db", "C": "$(D)", "D": "d", "E": "secret$(HOME)", "F": "secret"}
    assert _replaced(in_order(given)) == expected


def test_variables_that_name_none_or_each_other_stay_in_order() -> None:
    for values in ({"B": "1", "A": "$(X) $A", "C": "$(C)"}, {"A": "$(B)", "C": "", "B": "$(A)"}):
        given = [{"name": name, "value": value} for name, value in values.items()]
        made = in_order(given)
        assert sorted(made, key=given.index) == given
        assert made == given or "$(B)" in values["A"]
