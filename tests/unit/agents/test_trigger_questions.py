"""How often triggers ask the cluster whether somebody has started a run, and that no such run is overlooked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorplane.agents.triggers import runs
from tensorplane.agents.triggers.controller import Controller
from tests.support.trigger_world import World

RARE: dict[str, Any] = {"counts": "versions", "atLeast": 2}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def _look(world: World, controller: Controller, times: int = 1) -> None:
    for _ in range(times):
        controller.reconcile()
        world.clock += 1


def test_looks_without_news_ask_seldom_whether_somebody_has_started_a_run(world: World) -> None:
    controller = world.controller(fresh=RARE)
    world.commit()
    made = world.commit()
    _look(world, controller)
    world.end_runs()
    by_hand = world.commit("made")
    _look(world, controller)
    before = world.questions
    _look(world, controller, 29)
    assert world.questions == before
    replaced = {"made": by_hand.id, "report": world.dataset("report").resolve().id}
    world.create(runs.workflow(world.find_template(), {"raw": made.id}, replaced))
    _look(world, controller, 2)
    last = world.read_state().last
    assert last and last.name == [*world.runs][-1]


def test_a_run_that_somebody_started_just_before_a_version_came_has_counted_the_others(world: World) -> None:
    controller = world.controller(fresh=RARE)
    made = world.commit()
    _look(world, controller)
    world.create(runs.workflow(world.find_template(), {"raw": made.id}, dict.fromkeys(world.outputs, "")))
    world.commit()
    _look(world, controller)
    world.end_runs()
    _look(world, controller)
    assert world.files_of_runs() == [1]
    world.commit()
    _look(world, controller)
    assert world.files_of_runs() == [1, 3]


def test_a_schedule_waits_for_a_run_that_somebody_started_since_the_last_question(world: World) -> None:
    controller = world.controller(hourly={"schedule": [[30], None, None, None, None]})
    world.commit()
    world.clock = 3600 * 100 + 1795.0
    _look(world, controller)
    world.create({"metadata": {"name": "digits-by-hand"}})
    _look(world, controller, 6)
    assert "waits for digits-by-hand to end, and then starts a run on the newest versions" in world.logged
    assert [*world.runs] == ["digits-by-hand"]
