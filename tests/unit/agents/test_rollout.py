"""A model server's rollouts: canary, gates, promotion, rollback, pinned versions, in a simulated cluster."""

from __future__ import annotations

import json
import os
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.rollout import record
from agents.rollout.gates import ACCURACY, ERROR_RATE, LATENCY, Gate, Measured, Verdict, verdict
from tests.support.rollout_world import REPLICAS, World, described, settle


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, random.Random(1))
    made.publish(1)
    settle(made, described(tmp_path))
    return made


def actions(world: World) -> list[tuple[str, int]]:
    return [(one.action, one.version) for _, one in sorted(world.events.items())]


def test_the_first_version_is_served_without_a_gate(world: World) -> None:
    assert actions(world) == [("Promoted", 1)]
    assert world.config[False] == 1
    assert world.replicas == {False: REPLICAS, True: 0}


def test_a_good_version_is_tried_and_then_served_by_all(world: World) -> None:
    world.publish(2)
    settle(world, described(world.folder))
    assert actions(world)[1:] == [("CanaryStarted", 2), ("Promoted", 2)]
    assert {one.version for one in world.servers.values()} == {2}
    assert world.replicas == {False: REPLICAS, True: 0}


def test_stable_pods_shrink_only_once_the_canary_is_ready(world: World) -> None:
    world.publish(2)
    settle(world, described(world.folder))
    assert world.least_ready >= REPLICAS - 1


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("wrong", "errors in"),
        ("broken", "cannot be loaded: no graph"),
        ("other", "signature serving_default: input x is DT_STRING, and DT_FLOAT in the stable version"),
    ],
)
def test_a_bad_version_is_rolled_back_once_and_the_next_one_is_tried(world: World, kind: str, reason: str) -> None:
    getattr(world, kind).add(2)
    world.publish(2)
    settle(world, described(world.folder))
    assert actions(world)[1:] == [("CanaryStarted", 2), ("RolledBack", 2)]
    assert reason in world.events[3].reason
    assert {one.version for one in world.servers.values()} == {1}
    world.publish(3)
    settle(world, described(world.folder))
    assert actions(world)[3:] == [("CanaryStarted", 3), ("Promoted", 3)]


@pytest.mark.parametrize("kind", ["broken", "other"])
def test_a_version_that_cannot_replace_the_stable_one_answers_no_client(world: World, kind: str) -> None:
    getattr(world, kind).add(2)
    world.publish(2)
    settle(world, described(world.folder))
    assert 2 not in world.answered


def test_other_settings_try_a_refused_version_again(world: World) -> None:
    world.wrong.add(2)
    world.publish(2)
    settle(world, described(world.folder))
    world.wrong.clear()
    settle(world, described(world.folder, digest="2"))
    assert actions(world)[-1] == ("Promoted", 2)


def test_a_pinned_version_is_served_whatever_is_published(world: World) -> None:
    for version in (2, 3):
        world.publish(version)
        settle(world, described(world.folder))
    settle(world, described(world.folder, pin=1))
    world.publish(4)
    settle(world, described(world.folder, pin=1))
    assert actions(world)[-1] == ("Pinned", 1)
    assert {one.version for one in world.servers.values()} == {1}
    settle(world, described(world.folder))
    assert actions(world)[-1] == ("Promoted", 4)


def test_unfinished_versions_and_a_stable_one_that_is_gone_are_reported_once(world: World, tmp_path: Path) -> None:
    (tmp_path / "2").mkdir()
    os.utime(tmp_path / "2", (1, 1))
    settle(world, described(tmp_path))
    settle(world, described(tmp_path))
    assert [(one.action, one.reason) for one in world.events.values()][1:] == [("NotServed", "has no saved_model.pb")]


def test_one_version_alone_is_tried_if_the_settings_name_it(world: World) -> None:
    for version in (2, 3):
        world.publish(version)
    settle(world, described(world.folder, version=2))
    assert actions(world)[1:] == [("CanaryStarted", 2), ("Promoted", 2)]


def test_a_canary_without_a_verdict_is_rolled_back_at_its_deadline(world: World) -> None:
    world.publish(2)
    settle(world, described(world.folder, gates=[Gate(ERROR_RATE, 0.1, 10**6)], deadline_seconds=0))
    assert actions(world)[-1] == ("RolledBack", 2)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["good", "wrong", "broken", "other"]))
def test_killed_anywhere_it_ends_as_if_it_were_not(seed: int, kind: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), random.Random(seed))
        world.publish(1)
        settle(world, described(world.folder))
        world.kill_chance = 0.2
        if kind != "good":
            getattr(world, kind).add(2)
        world.publish(2)
        settle(world, described(world.folder), 100)
        world.kill_chance = 0
        settle(world, described(world.folder))
        end = "Promoted" if kind == "good" else "RolledBack"
        assert actions(world) == [("Promoted", 1), ("CanaryStarted", 2), (end, 2)]
        assert {one.version for one in world.servers.values()} == {2 if kind == "good" else 1}
        assert world.unanswered == 0
        file = record.path_of(world.folder, "digits-server")
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert [line["number"] for line in lines] == [1, 2, 3]


@pytest.mark.parametrize(
    ("gate", "measured", "said"),
    [
        (Gate(ERROR_RATE, 0.01, 100), Measured(99, 0), Verdict.WAITS),
        (Gate(ERROR_RATE, 0.01, 100), Measured(100, 1), Verdict.PASSES),
        (Gate(ERROR_RATE, 0.01, 100), Measured(10, 2), Verdict.FAILS),
        (Gate(ERROR_RATE, 0, 10), Measured(1, 1), Verdict.FAILS),
        (Gate(LATENCY, 50, 10), Measured(10, 0, 50.0), Verdict.PASSES),
        (Gate(LATENCY, 50, 10), Measured(10, 0, 50.1), Verdict.FAILS),
        (Gate(LATENCY, 50, 10), Measured(9, 0, 80.0), Verdict.WAITS),
        (Gate(LATENCY, 50, 0), Measured(), Verdict.WAITS),
        (Gate(ACCURACY, 0.9, 0), Measured(), Verdict.WAITS),
        (Gate(ACCURACY, 0.9, 0), Measured(accuracy=0.9), Verdict.PASSES),
        (Gate(ACCURACY, 0.9, 0), Measured(accuracy=0.89), Verdict.FAILS),
    ],
)
def test_a_gate_says(gate: Gate, measured: Measured, said: Verdict) -> None:
    assert verdict([gate], measured)[0] is said


def test_one_gate_that_fails_decides_and_all_must_pass() -> None:
    gates = [Gate(ERROR_RATE, 0.01, 100), Gate(ACCURACY, 0.9, 0)]
    assert verdict(gates, Measured(5, 0, accuracy=0.5))[0] is Verdict.FAILS
    assert verdict(gates, Measured(5, 0, accuracy=0.95))[0] is Verdict.WAITS
    passed, reason = verdict(gates, Measured(200, 0, accuracy=0.95))
    assert passed is Verdict.PASSES
    assert reason == "errorRate 0, at most 0.01 allowed; accuracy 0.95, at least 0.9 allowed"
