"""The sentences on cost: full groups, groups at their minimum, and what of that the queues' quotas cover."""

from __future__ import annotations

import pytest

from tensorplane.cli.commands.preview import spending
from tensorplane.components.base.price import Usd
from tensorplane.components.cost.difference import Compared
from tensorplane.components.cost.estimate import EXPECTED, MAX, MIN, OWNED, Estimate


def _group(least: float, most: float) -> Estimate:
    return Estimate("group", "gpu", {MIN: Usd(least, least), MAX: Usd(most, most)}, "")


def _queue(owned: float) -> Estimate:
    return Estimate("queue", "research", {OWNED: Usd(owned, owned)}, "")


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (_group(0, 10), _group(0, 20), "+$10.00 per hour at most ($10.00 → $20.00, a month $7,300 → $14,600)"),
        (_group(0, 10), _group(2, 10),
         "at most $10.00 per hour ($7,300 a month), as before, +$2.00 at least ($0.00 → $2.00)"),
        (_group(1, 10), None,
         "-$10.00 per hour at most ($10.00 → $0.00, a month $7,300 → $0), -$1.00 at least ($1.00 → $0.00)"),
    ],
)  # fmt: skip
def test_full_groups_and_changed_minimums_are_in_one_sentence(
    before: Estimate | None, after: Estimate | None, says: str
) -> None:
    assert spending.sentence([Compared(before, after)]) == says


def test_what_the_queues_cover_is_said_before_and_after() -> None:
    group, same = Compared(_group(0, 10), _group(0, 20)), Compared(_group(0, 10), _group(0, 10))
    says = "The queues' guaranteed quotas cover nodes for "
    as_before = f"{says}$4.00 per hour, as before"
    assert spending.covered([same, Compared(_queue(4), _queue(4))]) == as_before
    more = f"{as_before}: jobs in queues use no more of them"
    assert spending.covered([group, Compared(_queue(4), _queue(4))]) == more
    assert spending.covered([group, Compared(_queue(4), _queue(8))]) == f"{says}$4.00 → $8.00 per hour"


@pytest.mark.parametrize(
    ("owned", "says"), [(8, "$4.00 more per hour (a month $2,920)"), (1, "$3.00 less per hour (a month $2,190)")]
)
def test_full_groups_that_cost_the_same_do_not_hide_what_queues_keep_busy(owned: float, says: str) -> None:
    group, queue = Compared(_group(0, 10), _group(0, 10)), Compared(_queue(4), _queue(owned))
    assert spending.sentence([group, queue]) == (
        f"at most $10.00 per hour ($7,300 a month), as before, but jobs in queues can keep nodes for up to {says} busy"
    )


def test_a_group_with_a_price_and_no_average_names_the_setting() -> None:
    unknown = Estimate("group", "gpu", {MAX: Usd(1, 1), EXPECTED: None}, "not declared")
    assert spending.expected([Compared(unknown, unknown)]).startswith(
        "The likely cost is unknown: set nodeGroups.*.expected of gpu to the average number of nodes"
    )
    declared = Estimate("group", "gpu", {MAX: Usd(1, 1), EXPECTED: Usd(1, 1)})
    assert spending.expected([Compared(declared, declared), Compared(unknown, None)]) == ""


def test_without_queues_or_with_an_unknown_quota_nothing_is_said() -> None:
    assert spending.covered([Compared(_group(0, 10), _group(0, 20))]) == ""
    unknown = Estimate("queue", "research", {}, "the price is unknown")
    assert spending.covered([Compared(_queue(4), unknown)]) == ""
    assert spending.covered([Compared(_queue(4), None)]) == "", "a stack that is deleted"
