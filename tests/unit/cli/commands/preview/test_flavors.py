"""GPUs that jobs in queues cannot use after an update."""

from __future__ import annotations

from typing import Any

from tensorplane.cli.commands.preview import flavors
from tensorplane.cli.commands.preview.report import Components, Report
from tensorplane.cli.output.escaping import line as shown
from tests.hosts.preview_events import queue


def _lines(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return list(map(shown, flavors.lines(Report("prod", components={"tensorplane:index:Queue": {"a": (old, new)}}))))


def _having(quota: float, **most: float) -> dict[str, Any]:
    """A queue with this quota of T4s, in a stack with these GPUs."""
    kinds: dict[str, tuple[float, float, float]] = {"t4": (quota, 0, 0)} if quota else {}
    machines = [{"name": name, "gpus": True, "max": count} for name, count in most.items()]
    return {**queue("low", kinds), "machines": machines}


def test_more_gpus_without_quota_are_named_with_how_many_there_were() -> None:
    (line,) = _lines(_having(4, t4=8), _having(4, t4=16))
    says = "**12 of 16 t4 are in no queue's quota** (before: 4 of 8): jobs in queues use at most 4 at a time. "
    assert line.startswith(says)


def test_a_new_flavor_without_quota_is_named() -> None:
    (line,) = _lines(_having(8, t4=8), _having(8, t4=8, l4=2))
    assert line.startswith("**2 of 2 l4 are in no queue's quota**: jobs in queues use none. ")


def test_a_flavor_that_goes_strands_the_jobs_that_require_it() -> None:
    assert _lines(_having(0, t4=8, l4=2), _having(0, t4=8)) == [
        "no node group has **l4** any more: jobs that require it never start; none of this stack's workloads does"
    ]


def test_a_raised_quota_leaves_fewer_for_pods_without_a_queue() -> None:
    (line,) = _lines(_having(4, t4=8), _having(6, t4=8))
    assert line.startswith("**t4** that no quota covers, left for pods without a queue: 4 → 2. No workload of this")


def test_other_machines_of_a_group_with_as_many_gpus_without_quota_are_no_news() -> None:
    before, after = ({"labels": {"tensorplane.dev/flavor": flavor}} for flavor in ("t4", "l4"))
    old, new = _having(4, t4=8), _having(0, l4=8)
    components: Components = {
        "tensorplane:index:Queue": {"a": (old, {**new, "kinds": [{**old["kinds"][0], "name": "l4"}]})},
        "tensorplane:index:NodeGroup": {"gpu": (before, after)},
    }
    _, line = map(shown, flavors.lines(Report("prod", components=components)))
    assert line.startswith("4 of 8 l4 are in no queue's quota, as before of t4: ")


def test_an_equal_quota_an_unknown_capacity_and_a_new_stack_say_nothing() -> None:
    assert _lines(_having(4, t4=8), _having(4, t4=8)) == []
    unknown = {**_having(4, t4=8), "machines": [{"name": "t4", "gpus": True, "max": None}]}
    assert _lines(unknown, _having(4, t4=8)) == _lines(_having(4, t4=8), unknown) == []
    assert _lines({}, _having(4, t4=8)) == _lines(_having(4, t4=8), {}) == []
