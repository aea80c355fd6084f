"""Triggers whose schedule or branch changes between two looks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.trigger_world import World, settle


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_schedule_that_is_changed_counts_from_then_on(world: World) -> None:
    at_30, at_50 = ({"schedule": [[minute], None, None, None, None]} for minute in (30, 50))
    world.commit()
    world.clock = 3600.0 * 100
    settle(world, steps=2, hourly=at_30)
    world.clock += 1800
    settle(world, steps=2, hourly=at_30)
    world.end_runs()
    world.commit()
    world.clock += 1500  # to minute 55
    settle(world, steps=5, hourly=at_50)
    assert world.files_of_runs() == [1]
    world.clock += 3300
    settle(world, steps=5, hourly=at_50)
    assert world.files_of_runs() == [1, 2]


def test_a_schedule_that_an_older_version_remembers_goes_on(world: World) -> None:
    hourly = {"schedule": [[30], None, None, None, None]}
    world.commit()
    world.clock = 3600.0 * 100
    settle(world, steps=1, hourly=hourly)
    remembered = json.loads(world.text)
    del remembered["calendars"]
    world.text = json.dumps(remembered)
    world.clock += 1800
    settle(world, steps=2, hourly=hourly)
    assert world.files_of_runs() == [1]


@pytest.mark.parametrize("again", [False, True])
def test_a_branch_that_was_made_anew_at_the_same_commit_is_nothing_new(world: World, again: bool) -> None:
    trigger = {"counts": "versions", "atLeast": 2}
    world.commit()
    world.commit()
    controller = world.controller(fresh=trigger)
    controller.reconcile()
    world.end_runs()
    controller.reconcile()
    world.dataset().branch("kept")
    world.dataset().delete_branch("main")
    controller.reconcile()
    world.dataset().branch("main", "kept")
    if again:
        controller = world.controller(fresh=trigger)
    for _ in range(3):
        controller.reconcile()
    assert [one.action for one in world.events.values()] == ["RunStarted"]
    world.commit()
    controller.reconcile()
    assert len(world.runs) == 1
    world.commit()
    controller.reconcile()
    assert world.files_of_runs() == [2, 4]
    assert world.events[2].reason == "trigger fresh: 2 new versions"
