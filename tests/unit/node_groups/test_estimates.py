"""Estimates of node groups, queues and runs, and their differences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.components.base.price import NodePrice, Usd
from tensorplane.components.clusters.eks import Eks
from tensorplane.components.cost import difference, estimate, pods
from tensorplane.components.cost.estimate import (
    BORROWED,
    EXPECTED,
    HOUR,
    MAX,
    MIN,
    MONTH,
    OWNED,
    RUN,
    Estimate,
    Part,
    registered,
)
from tensorplane.components.node_groups import fleet
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.components.node_groups.shape import Shape

_GROUPS: dict[str, dict[str, Any]] = {
    "cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 4},
    "average": {"machine": "m7i.4xlarge", "min": 2, "max": 4, "expected": 2.5},
    "fixed": {"accelerator": "t4", "min": 3, "max": 3, "spot": True},
    "unpriced": {"machine": "m8i.8xlarge", "max": 4},
}


@pytest.fixture(scope="module")
def shapes() -> dict[str, Shape]:
    found, wrong = fleet.of(
        {name: NodeGroupArgs.model_validate(args) for name, args in _GROUPS.items()},
        Eks(region="us-west-2").cluster_properties,
    )
    assert not wrong
    return dict(found.groups)


def _usd(one: Estimate, figure: str) -> float:
    found = one.figures[figure]
    assert found
    assert found.low == found.high
    return found.high


def test_a_group_costs_between_its_minimum_and_its_maximum(shapes: dict[str, Shape]) -> None:
    one, each = estimate.of_group(shapes["average"]), shapes["average"].hourly_usd
    assert each
    assert _usd(one, MIN) == pytest.approx(2 * each)
    assert _usd(one, EXPECTED) == pytest.approx(2.5 * each)
    assert _usd(one, MAX) == pytest.approx(4 * each)
    assert _usd(one, MONTH) == pytest.approx(2.5 * each * 730)
    assert (one.missing, one.date) == ("", shapes["average"].price_date)


def test_a_group_of_fixed_size_costs_the_same_always(shapes: dict[str, Shape]) -> None:
    one = estimate.of_group(shapes["fixed"])
    assert _usd(one, MIN) == _usd(one, EXPECTED) == _usd(one, MAX)


def test_without_an_average_the_month_is_unknown_and_says_so(shapes: dict[str, Shape]) -> None:
    one = estimate.of_group(shapes["cpu"])
    assert one.figures[EXPECTED] is one.figures[MONTH] is None
    assert one.missing == "the average number of nodes is not declared; set nodeGroups.*.expected"


def test_an_unknown_price_is_never_zero(shapes: dict[str, Shape]) -> None:
    one = estimate.of_group(shapes["unpriced"])
    assert set(one.figures.values()) == {None}
    assert one.missing == "the catalog has no on-demand price of m8i.8xlarge in us-west-2"
    summed = difference.total([estimate.of_group(shape) for shape in shapes.values()], MAX)
    assert summed.excluded == ("unpriced",)


@pytest.mark.parametrize("expected", [1, 5])
def test_an_average_outside_of_the_group_is_refused(expected: float) -> None:
    args = NodeGroupArgs.model_validate({"machine": "m7i.2xlarge", "min": 2, "max": 4, "expected": expected})
    _, wrong = fleet.of({"cpu": args}, Eks(region="us-west-2").cluster_properties)
    nearest = 2 if expected < 2 else 4
    assert [str(each) for each in wrong] == [
        f"tensorplane:nodeGroups.cpu.expected: {expected} is not between min, 2, and max, 4; set it to {nearest}"
    ]


_GPU_NODE, _CPU_NODE = NodePrice(40, 192, 2048, 8), NodePrice(0.4, 8, 32)


def test_a_queue_owns_shares_of_nodes_and_may_borrow_others() -> None:
    one = estimate.of_quotas(
        "research",
        [
            Part("cpu", [_CPU_NODE], (4, 32, 0), (0, 0, 0)),
            Part("h100-80gb", [_GPU_NODE], (24, 256, 1), (48, 512, 2)),
        ],
    )
    assert _usd(one, OWNED) == pytest.approx(0.4 + 5)
    assert _usd(one, BORROWED) == pytest.approx(10)
    assert one.missing == ""


def test_a_queue_of_a_flavor_without_price_is_unknown() -> None:
    one = estimate.of_quotas(
        "research", [Part("t4", [], (4, 16, 1), (0, 0, 0)), Part("idle", [], (0, 0, 0), (0, 0, 0))]
    )
    assert one.figures[OWNED] is None
    assert one.figures[BORROWED] == Usd(0, 0)
    assert one.missing == "the price of flavor t4 is unknown"


def test_a_run_costs_as_long_as_the_last_one_took() -> None:
    hourly = Estimate("run", "digits", {HOUR: Usd(2, 4)})
    assert pods.lasting(hourly, 1800).figures[RUN] == Usd(1, 2)
    assert pods.lasting(hourly, None).figures[RUN] is None


_FIGURE = st.none() | st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)).map(lambda both: Usd(*sorted(both)))
_ESTIMATES = st.dictionaries(st.sampled_from("abcdef"), _FIGURE).map(
    lambda found: [Estimate("group", name, {MAX: usd}) for name, usd in found.items()]
)


@given(_ESTIMATES, _ESTIMATES)
def test_the_differences_add_up_to_the_difference_of_the_totals(old: list[Estimate], new: list[Estimate]) -> None:
    compared = difference.difference(old, new)
    assert [each.name for each in compared] == sorted({one.name for one in (*old, *new)})
    known = [change for each in compared if (change := each.change(MAX)) is not None]
    before, after = difference.total(old, MAX), difference.total(new, MAX)
    if len(known) == len(compared):
        assert sum(known) == pytest.approx(after.usd.high - before.usd.high, abs=1e-3)
    else:
        assert before.excluded or after.excluded


@given(_FIGURE)
def test_what_is_registered_is_read_again(usd: Usd | None) -> None:
    one = Estimate("queue", "q", {OWNED: usd}, "why", "2026-01-21")
    again = registered("queue", "q", one.plain())
    assert (again.kind, again.name, again.missing, again.date) == ("queue", "q", "why", "2026-01-21")
    found = again.figures[OWNED]
    assert (found is None) == (usd is None)
    assert found is None or usd is None or found.high == pytest.approx(usd.high, abs=1e-4)


def test_a_version_that_registered_nothing_leaves_no_zero() -> None:
    assert difference.difference([registered("queue", "q", None)], [])[0].change(OWNED) is None
