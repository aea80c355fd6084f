"""A model server's rollouts: canary, gates, promotion, rollback, pinned versions, in a simulated cluster."""

from __future__ import annotations

import json
import os
import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane.agents.rollout import state
from tensorplane.agents.rollout.controller import Controller
from tensorplane.agents.rollout.decide import Observed, Pod, Track, desired
from tensorplane.agents.rollout.gates import ACCURACY, ERROR_RATE, LATENCY, Gate, GateResult, Measured, evaluate
from tensorplane.agents.rollout.spec import RolloutSpec
from tensorplane.agents.rollout.state import RolloutState
from tests.support import counts
from tests.support.rollout_world import REPLICAS, World, settle, spec


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, random.Random(1))
    made.publish(1)
    settle(made, spec(tmp_path))
    return made


def actions(world: World) -> list[tuple[str, int]]:
    return [(one.action, one.version) for _, one in sorted(world.events.items())]


def test_the_first_version_is_served_without_a_gate(world: World) -> None:
    assert actions(world) == [("Promoted", 1)]
    assert world.config[False] == 1
    assert world.replicas == {False: REPLICAS, True: 0}


def test_a_good_version_is_tried_and_then_served_by_all(world: World) -> None:
    world.publish(2)
    settle(world, spec(world.folder))
    assert actions(world)[1:] == [("CanaryStarted", 2), ("Promoted", 2)]
    assert {one.version for one in world.servers.values()} == {2}
    assert world.replicas == {False: REPLICAS, True: 0}


def test_stable_pods_shrink_only_once_the_canary_is_ready(world: World) -> None:
    world.publish(2)
    settle(world, spec(world.folder))
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
    settle(world, spec(world.folder))
    assert actions(world)[1:] == [("CanaryStarted", 2), ("RolledBack", 2)]
    assert reason in world.events[3].reason
    assert {one.version for one in world.servers.values()} == {1}
    world.publish(3)
    settle(world, spec(world.folder))
    assert actions(world)[3:] == [("CanaryStarted", 3), ("Promoted", 3)]


@pytest.mark.parametrize("kind", ["broken", "other"])
def test_a_version_that_cannot_replace_the_stable_one_answers_no_client(world: World, kind: str) -> None:
    getattr(world, kind).add(2)
    world.publish(2)
    settle(world, spec(world.folder))
    assert 2 not in world.answered


def test_other_settings_try_a_refused_version_again(world: World) -> None:
    world.wrong.add(2)
    world.publish(2)
    settle(world, spec(world.folder))
    world.wrong.clear()
    settle(world, spec(world.folder, digest="2"))
    assert actions(world)[-1] == ("Promoted", 2)


def test_a_pinned_version_is_served_whatever_is_published(world: World) -> None:
    for version in (2, 3):
        world.publish(version)
        settle(world, spec(world.folder))
    settle(world, spec(world.folder, pin=1))
    world.publish(4)
    settle(world, spec(world.folder, pin=1))
    assert actions(world)[-1] == ("Pinned", 1)
    assert {one.version for one in world.servers.values()} == {1}
    settle(world, spec(world.folder))
    assert actions(world)[-1] == ("Promoted", 4)


def test_unfinished_versions_and_a_stable_one_that_is_gone_are_reported_once(world: World, tmp_path: Path) -> None:
    (tmp_path / "2").mkdir()
    os.utime(tmp_path / "2", (1, 1))
    settle(world, spec(tmp_path))
    settle(world, spec(tmp_path))
    assert [(one.action, one.reason) for one in world.events.values()][1:] == [("NotServed", "has no saved_model.pb")]


def test_a_stable_version_that_vanishes_is_reported_each_time(world: World) -> None:
    aside = world.folder.parent / "aside"
    for reports in (1, 2):
        (world.folder / "1").rename(aside)
        settle(world, spec(world.folder))
        assert actions(world)[1:] == [("NotServed", 1)] * reports
        assert world.events[1 + reports].reason == "is no longer on the volume"
        aside.rename(world.folder / "1")
        settle(world, spec(world.folder))


@pytest.mark.parametrize("pin", [None, 1])
def test_a_stable_version_that_vanishes_is_reported_while_another_is_tried_or_it_is_pinned(
    world: World, tmp_path: Path, pin: int | None
) -> None:
    waits = spec(world.folder, gates=[Gate(ERROR_RATE, 0.1, 10**6)], pin=pin)
    world.publish(2)
    settle(world, waits)
    (world.folder / "1").rename(world.folder / "aside")
    settle(world, waits)
    assert actions(world)[-1] == ("NotServed", 1)


def test_a_canary_that_vanishes_is_rolled_back_and_the_stable_version_goes_on(world: World) -> None:
    waits = spec(world.folder, gates=[Gate(ERROR_RATE, 0.1, 10**6)])
    world.publish(2)
    settle(world, waits)
    (world.folder / "2").rename(world.folder / "aside")
    settle(world, waits)
    assert actions(world)[1:] == [("CanaryStarted", 2), ("RolledBack", 2)]
    assert world.events[3].reason == "is no longer on the volume"
    assert {one.version for one in world.servers.values()} == {1}


@pytest.mark.parametrize(
    ("published", "reason"), [(False, "is pinned, but it is not on the volume"), (True, "has no saved_model.pb")]
)
def test_a_pinned_version_that_cannot_be_served_is_reported_once(world: World, published: bool, reason: str) -> None:
    if published:
        (world.folder / "7").mkdir()
        os.utime(world.folder / "7", (1, 1))
    for _ in range(2):
        settle(world, spec(world.folder, pin=7))
    assert actions(world)[1:] == [("NotServed", 7)]
    assert world.events[2].reason == reason


def test_examples_that_cannot_be_read_are_asked_less_and_less_often(world: World) -> None:
    now, warned = [0.0], list[str]()
    asked = spec(world.folder, gates=[Gate(ACCURACY, 0.9, 0)])
    controller = Controller(
        replace(asked, examples=world.folder / "none.jsonl"),
        world,
        warn=warned.append,
        connect=world.connect,
        clock=lambda: now[0],
    )
    world.publish(2)
    for _ in range(400):
        controller.reconcile()
        world.pass_time()
        now[0] += 2
    waits = [line.rpartition("asks again in ")[2] for line in warned]
    assert waits == ["4 s", "8 s", "16 s", "32 s", "64 s", "128 s", "256 s", "300 s"]


def test_one_version_alone_is_tried_if_the_settings_name_it(world: World) -> None:
    for version in (2, 3):
        world.publish(version)
    settle(world, spec(world.folder, version=2))
    assert actions(world)[1:] == [("CanaryStarted", 2), ("Promoted", 2)]


def test_a_canary_without_a_verdict_is_rolled_back_at_its_deadline(world: World) -> None:
    world.publish(2)
    settle(world, spec(world.folder, gates=[Gate(ERROR_RATE, 0.1, 10**6)], deadline_seconds=0))
    assert actions(world)[-1] == ("RolledBack", 2)


_ROUTES = ("HTTPRoute", "GRPCRoute")


def by_route(folder: Path, **changed: Any) -> RolloutSpec:
    """A server whose canary gets a tenth of the requests of its routes."""
    return spec(folder, percent=10, **changed)


def test_a_route_gives_the_canary_its_percent_and_the_stable_pods_keep_their_number(tmp_path: Path) -> None:
    world = World(tmp_path, random.Random(1), routes=dict.fromkeys(_ROUTES))
    waiting = [Gate(ERROR_RATE, 0.1, 10**6)]
    world.publish(1)
    settle(world, by_route(tmp_path, gates=waiting))
    assert world.routes == dict.fromkeys(_ROUTES, 0), "divided before there is a canary"
    world.publish(2)
    settle(world, by_route(tmp_path, gates=waiting), 20)
    assert world.routes == dict.fromkeys(_ROUTES, 10)
    assert world.replicas == {False: REPLICAS, True: 1}
    world.answered.clear()
    settle(world, by_route(tmp_path, gates=waiting), 300)
    assert world.answered.count(2) / len(world.answered) == pytest.approx(0.1, abs=0.02)
    settle(world, by_route(tmp_path))
    assert actions(world)[-1] == ("Promoted", 2)
    assert world.routes == dict.fromkeys(_ROUTES, 0)
    assert world.replicas == {False: REPLICAS, True: 0}
    assert world.unanswered == 0


def test_routes_are_not_divided_before_the_stable_pods_can_be_told_apart() -> None:
    rollout_state, rollout = RolloutState(stable=1, canary=2), spec(Path(), percent=10).rollout
    canary = Track(1, 2, [Pod("canary", ready=True, available=frozenset({2}))])
    before = Pod("old", ready=True, available=frozenset({1}), labelled=False)
    for stable, weight in ((before, None), (replace(before, ready=False, labelled=True), None), (canary.pods[0], 10)):
        observed = Observed(0.0, {}, Track(4, 1, [stable]), canary, weights={"HTTPRoute": None})
        assert desired(rollout, rollout_state, observed).weight == weight


def test_a_canary_that_is_no_longer_ready_gets_no_requests_of_routes() -> None:
    rollout_state, rollout = RolloutState(stable=1, canary=2), spec(Path(), percent=10, canary_replicas=2).rollout
    stable = Track(4, 1, [Pod("stable", ready=True, available=frozenset({1}))])
    one, two = (Pod(name, ready=True, available=frozenset({2})) for name in ("one", "two"))
    gone = [replace(each, ready=False) for each in (one, two)]
    for now, pods, weight in ((0, [one], 0), (0, [one, two], 10), (10, [one, gone[1]], 10), (10, gone, 0)):
        observed = Observed(0.0, {}, stable, Track(2, 2, pods), weights={"HTTPRoute": now})
        assert desired(rollout, rollout_state, observed).weight == weight


@pytest.mark.counted
@settings(max_examples=counts.of(quick=15, nightly=1000))
@given(st.integers(0, 2**32), st.sampled_from(["good", "wrong", "broken", "other"]), st.integers(0, 2))
def test_killed_anywhere_it_ends_as_if_it_were_not(seed: int, kind: str, routes: int) -> None:
    server = by_route if routes else spec
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), random.Random(seed), routes=dict.fromkeys(_ROUTES[:routes]))
        world.publish(1)
        settle(world, server(world.folder))
        world.kill_chance = 0.2
        if kind != "good":
            getattr(world, kind).add(2)
        world.publish(2)
        settle(world, server(world.folder), 100)
        world.kill_chance = 0
        settle(world, server(world.folder))
        end = "Promoted" if kind == "good" else "RolledBack"
        assert actions(world) == [("Promoted", 1), ("CanaryStarted", 2), (end, 2)]
        assert {one.version for one in world.servers.values()} == {2 if kind == "good" else 1}
        assert world.unanswered == 0
        assert world.routes == dict.fromkeys(_ROUTES[:routes], 0)
        file = state.record_path(world.folder, "digits-server")
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert [line["number"] for line in lines] == [1, 2, 3]


@pytest.mark.parametrize(
    ("gate", "measured", "said"),
    [
        (Gate(ERROR_RATE, 0.01, 100), Measured(99, 0), GateResult.WAITS),
        (Gate(ERROR_RATE, 0.01, 100), Measured(100, 1), GateResult.PASSES),
        (Gate(ERROR_RATE, 0.01, 100), Measured(10, 2), GateResult.FAILS),
        (Gate(ERROR_RATE, 0, 10), Measured(1, 1), GateResult.FAILS),
        (Gate(LATENCY, 50, 10), Measured(10, 0, 50.0), GateResult.PASSES),
        (Gate(LATENCY, 50, 10), Measured(10, 0, 50.1), GateResult.FAILS),
        (Gate(LATENCY, 50, 10), Measured(9, 0, 80.0), GateResult.WAITS),
        (Gate(LATENCY, 50, 0), Measured(), GateResult.WAITS),
        (Gate(ACCURACY, 0.9, 0), Measured(), GateResult.WAITS),
        (Gate(ACCURACY, 0.9, 0), Measured(accuracy=0.9), GateResult.PASSES),
        (Gate(ACCURACY, 0.9, 0), Measured(accuracy=0.89), GateResult.FAILS),
    ],
)
def test_a_gate_says(gate: Gate, measured: Measured, said: GateResult) -> None:
    assert evaluate([gate], measured)[0] is said


def test_one_gate_that_fails_decides_and_all_must_pass() -> None:
    gates = [Gate(ERROR_RATE, 0.01, 100), Gate(ACCURACY, 0.9, 0)]
    assert evaluate(gates, Measured(5, 0, accuracy=0.5))[0] is GateResult.FAILS
    assert evaluate(gates, Measured(5, 0, accuracy=0.95))[0] is GateResult.WAITS
    passed, reason = evaluate(gates, Measured(200, 0, accuracy=0.95))
    assert passed is GateResult.PASSES
    assert reason == "errorRate 0, at most 0.01 allowed; accuracy 0.95, at least 0.9 allowed"
