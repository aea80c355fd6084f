"""Triggers of a pipeline: when runs start, and that each combination of versions has one, in a simulated cluster."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane.agents.triggers import runs as run
from tensorplane.agents.triggers.commits import Head, Log
from tensorplane.agents.triggers.state import TriggerState
from tensorplane.components.base import labels
from tensorplane.workloads.pipeline import run as pipeline_run
from tests.support import counts
from tests.support.trigger_world import World, settle

FRESH: Mapping[str, Any] = {"counts": "versions"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_new_version_starts_a_run_on_it(world: World) -> None:
    settle(world, fresh=FRESH)
    assert world.logged == ["waits for a first version of raw"]
    made = world.commit()
    settle(world, fresh=FRESH)
    assert world.begun() == [{"raw": made.id}]
    assert [(one.action, one.reason) for one in world.events.values()] == [
        ("RunStarted", "trigger fresh: 1 new version")
    ]


def test_the_run_is_the_one_that_the_command_starts(world: World) -> None:
    template, commits, replaces = (
        world.find_template(),
        {"raw": "ab12", "labels": "cd34"},
        {"made": "ef56", "report": ""},
    )
    made = run.workflow(template, commits, replaces)
    assert made == pipeline_run.workflow(template, commits, replaces)
    assert (run.PIPELINE, f"{run.API}") == (labels.PIPELINE, made["apiVersion"])
    assert run.LOOKED_BACK == pipeline_run.LOOKED_BACK
    for module in (run, pipeline_run):
        beginning = module.beginning(template, commits)
        assert module.begins(made["metadata"]["name"], beginning)
        assert not module.begins(f"{made['metadata']['name']}0", beginning)
        assert not module.begins(made["metadata"]["name"], module.beginning(template, {"raw": "ab12"}))


def test_versions_that_come_while_a_run_goes_on_have_one_run_afterwards(world: World) -> None:
    world.commit()
    settle(world, fresh=FRESH)
    for _ in range(3):
        world.commit()
        settle(world, steps=2, fresh=FRESH)
    assert world.files_of_runs() == [1]
    world.end_runs()
    settle(world, fresh=FRESH)
    assert world.files_of_runs() == [1, 4]
    assert world.events[2].reason == "trigger fresh: 3 new versions"
    assert world.most_at_once == 1


def test_a_run_that_somebody_else_started_is_no_second_one(world: World) -> None:
    trigger = {"counts": "versions", "atLeast": 2}
    world.commit()
    made = world.commit()
    world.create(run.workflow(world.find_template(), {"raw": made.id}, dict.fromkeys(world.outputs, "")))
    settle(world, fresh=trigger)
    world.end_runs()
    world.commit()
    settle(world, fresh=trigger)
    assert (len(world.runs), len(world.events)) == (1, 0)
    world.commit()
    settle(world, fresh=trigger)
    assert world.files_of_runs() == [2, 4]


def test_a_second_controller_at_once_starts_no_second_run(world: World) -> None:
    one, another = world.controller(fresh=FRESH), world.controller(fresh=FRESH)
    for _ in range(3):
        world.commit()
        for each in (one, another, one, another):
            each.reconcile()
        world.end_runs()
    assert world.files_of_runs() == [1, 2, 3]


@pytest.mark.parametrize(
    ("trigger", "commits", "runs", "reason"),
    [
        ({"counts": "versions", "atLeast": 3}, [{}] * 7, [3, 6], "3 new versions"),
        ({"counts": "files", "atLeast": 5}, [{"files": 2}] * 7, [6, 12], "6 new files"),
        ({"counts": "bytes", "atLeast": 2**20}, [{"size": 2**19}] * 3, [2], "1.0 MiB new"),
        ({"counts": "windows"}, [{}, {"stream": {"topic": "clicks"}}, {}], [2], "1 new window"),
    ],
)
def test_counts_begin_anew_with_each_run(
    world: World, trigger: Mapping[str, Any], commits: list[dict[str, Any]], runs: list[int], reason: str
) -> None:
    for each in commits:
        world.commit(**each)
        settle(world, steps=2, enough=trigger)
        world.end_runs()
    assert world.files_of_runs() == runs
    assert world.events[1].reason == f"trigger enough: {reason}"


def test_only_sources_of_a_trigger_count(world: World) -> None:
    world.sources = ("labels", "raw")
    world.commit("raw")
    world.commit("labels")
    trigger = {"counts": "versions", "sources": ["raw"]}
    settle(world, fresh=trigger)
    world.end_runs()
    second = world.commit("labels")
    settle(world, fresh=trigger)
    assert len(world.runs) == 1
    world.commit("raw")
    settle(world, fresh=trigger)
    assert world.begun()[1]["labels"] == second.id


def test_a_quiet_time_gathers_commits(world: World) -> None:
    trigger = {"counts": "versions", "quietSeconds": 5, "longestSeconds": 60}
    controller = world.controller(fresh=trigger)
    for _ in range(4):
        world.commit()
        for _ in range(3):
            controller.reconcile()
            world.clock += 1
    assert not world.runs
    for _ in range(5):
        controller.reconcile()
        world.clock += 1
    assert world.files_of_runs() == [4]


def test_a_quiet_time_has_an_end(world: World) -> None:
    controller = world.controller(fresh={"counts": "versions", "quietSeconds": 5, "longestSeconds": 10})
    for _ in range(12):
        world.commit()
        controller.reconcile()
        world.clock += 1
    assert world.files_of_runs() == [11]


def test_a_changed_pipeline_runs_on_what_there_is(world: World) -> None:
    world.commit()
    settle(world, fresh=FRESH, nightly={"schedule": [[0], [2], None, None, None]})
    world.end_runs()
    world.digest = "2"
    settle(world, fresh=FRESH)
    assert world.files_of_runs() == [1, 1]
    assert world.events[2].reason == "trigger fresh: the pipeline changed"


def test_a_change_that_is_taken_back_makes_the_former_results_the_newest_again(world: World) -> None:
    world.commit()
    for digest in ("1", "2", "1", "2"):
        world.digest = digest
        settle(world, fresh=FRESH)
        world.end_runs()
        settle(world, fresh=FRESH)
        begun = run.beginning(world.find_template(), world.begun()[-1])
        assert all(run.begins(world.maker(name), begun) for name in world.outputs)
    assert len(world.runs) == 4
    assert [one.action for one in world.events.values()] == ["RunStarted"] * 4


@pytest.mark.parametrize("makes", [True, False])
def test_a_change_made_by_hand_and_taken_back_while_no_controller_looked_is_seen(world: World, makes: bool) -> None:
    made = world.commit()
    settle(world, fresh=FRESH)
    world.end_runs()
    first = world.maker()
    replaces = {name: world.dataset(name).resolve().id for name in world.outputs}
    world.digest = "2"
    world.create(run.workflow(world.find_template(), {"raw": made.id}, replaces))
    world.end_runs()
    assert world.maker() != first
    world.digest = "1"
    settle(world, fresh=FRESH)
    assert len(world.runs) == 3
    assert world.logged[-1].endswith("trigger fresh: another run replaced its results")
    if makes:
        world.end_runs()
    world.runs = dict.fromkeys(world.runs, True)
    settle(world, fresh=FRESH)
    assert len(world.runs) == 3, "a run that failed is not started again"
    assert run.begins(world.maker(), run.beginning(world.find_template(), {"raw": made.id})) == makes


def test_results_that_somebody_replaced_by_hand_stay_until_a_run_is_due(world: World) -> None:
    world.commit()
    settle(world, fresh=FRESH)
    world.end_runs()
    world.commit("made")
    settle(world, fresh=FRESH)
    assert len(world.runs) == 1


def test_a_change_that_is_taken_back_before_it_made_anything_starts_no_run(world: World) -> None:
    world.commit()
    settle(world, fresh=FRESH)
    world.end_runs()
    world.digest = "2"
    settle(world, fresh=FRESH)
    assert len(world.runs) == 2
    world.runs = dict.fromkeys(world.runs, True)  # it has failed without a version
    world.digest = "1"
    settle(world, fresh=FRESH)
    assert len(world.runs) == 2


@pytest.mark.parametrize("makes", [True, False])
def test_a_change_that_is_taken_back_while_its_run_goes_waits_for_what_that_makes(world: World, makes: bool) -> None:
    world.commit()
    settle(world, fresh=FRESH)
    world.end_runs()
    world.digest = "2"
    settle(world, fresh=FRESH)
    (first, second) = world.runs
    world.digest = "1"
    settle(world, fresh=FRESH)
    assert f"waits for {second} to end, and then starts a run on the newest versions" in world.logged
    if makes:
        world.end_runs()
    world.runs[second] = True
    settle(world, fresh=FRESH)
    world.end_runs()
    assert run.begins(world.maker(), run.beginning(world.find_template(), world.begun()[0]))
    assert ([*world.runs][:2], len(world.runs)) == ([first, second], 3 if makes else 2)


def test_a_run_that_the_command_started_before_others_ended_is_no_second_one(world: World) -> None:
    world.commit()
    settle(world, fresh=FRESH)
    made = world.commit()
    # Its name is that of what it would replace now; meanwhile, another run ends.
    world.create(run.workflow(world.find_template(), {"raw": made.id}, dict.fromkeys(world.outputs, "")))
    (first, second) = world.runs
    for name in world.outputs:
        world.commit(name, run=first)
    world.runs[first] = True
    settle(world, fresh=FRESH)
    world.end_runs()
    settle(world, fresh=FRESH)
    assert [*world.runs] == [first, second]
    assert world.maker() == second


def test_a_schedule_starts_a_run_at_its_time_if_there_is_something_new(world: World) -> None:
    hourly = {"schedule": [[30], None, None, None, None]}
    world.commit()
    world.clock = 3600.0 * 100
    settle(world, steps=5, hourly=hourly)
    assert not world.runs
    world.clock += 1800
    settle(world, steps=5, hourly=hourly)
    assert world.files_of_runs() == [1]
    world.end_runs()
    # Five of its times pass while no controller runs: one decision.
    world.clock += 5 * 3600
    settle(world, steps=5, hourly=hourly)
    assert [one.action for one in world.events.values()] == ["RunStarted", "NothingNew"]
    world.commit()
    world.clock += 3600
    settle(world, steps=5, hourly=hourly)
    assert world.files_of_runs() == [1, 2]


def test_a_schedule_makes_results_anew_that_somebody_replaced_by_hand(world: World) -> None:
    hourly = {"schedule": [[30], None, None, None, None]}
    world.commit()
    settle(world, fresh=FRESH, hourly=hourly)
    world.end_runs()
    world.commit("made")
    world.clock += 3600
    settle(world, fresh=FRESH, hourly=hourly)
    world.end_runs()
    _, second = world.runs
    assert world.maker() == second
    assert world.events[2].reason == "trigger hourly: its schedule"


def test_a_branch_that_was_deleted_and_made_anew_is_new(world: World) -> None:
    world.commit()
    world.commit()
    settle(world, fresh=FRESH)
    world.end_runs()
    world.dataset().delete_branch("main")
    made = world.commit()
    settle(world, fresh=FRESH)
    assert world.begun()[-1] == {"raw": made.id}


def test_other_sources_begin_anew(world: World) -> None:
    world.commit()
    world.commit("labels")
    settle(world, fresh=FRESH)
    world.end_runs()
    world.sources = ("labels", "raw")
    settle(world, fresh=FRESH)
    assert [sorted(each) for each in world.begun()] == [["raw"], ["labels", "raw"]]


def test_the_log_is_read_as_the_library_writes_it(world: World) -> None:
    log = Log(world.folder / "raw", "main")
    assert log.head() is None
    commits = [world.commit() for _ in range(3)]
    head = log.head()
    assert head == Head(3, commits[-1].id) == log.head(2) == log.head(3)
    assert [made["version"] for made in log.since(1, 3)] == [made.version for made in commits[1:]]
    (world.folder / "raw" / "branches" / "main" / "near").unlink()
    assert log.head() == head


def test_what_is_remembered_is_read_as_it_was_written(world: World) -> None:
    world.commit()
    settle(world, fresh=FRESH, hourly={"schedule": [[30], None, None, None, None]})
    state = TriggerState.from_json(world.text)
    assert state.last is not None
    assert TriggerState.from_json(state.to_json()) == state


@pytest.mark.counted
@settings(max_examples=counts.of(quick=10, nightly=500))
@given(
    seed=st.integers(0, 2**32),
    at_least=st.integers(1, 4),
    doings=st.lists(st.sampled_from(["commit", "two", "end", "look", "change", "back"]), max_size=25),
)
def test_killed_anywhere_each_combination_has_one_run_and_no_count_is_lost(
    seed: int, at_least: int, doings: list[str]
) -> None:
    trigger = {"counts": "versions", "atLeast": at_least}
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), random.Random(seed), kill_chance=0.3)
        world.commit()
        for doing in doings:
            if doing in ("commit", "two"):
                for _ in range(2 if doing == "two" else 1):
                    world.commit()
            elif doing == "end":
                world.end_runs()
            elif doing == "change":
                world.digest += "1"
            elif doing == "back":
                world.digest = world.digest[:-1] or "1"
            settle(world, steps=2, fresh=trigger)
        world.kill_chance = 0
        settle(world, fresh=trigger)
        world.end_runs()
        settle(world, fresh=trigger)
        versions = world.files_of_runs()
        made = world.dataset().resolve().files
        assert world.most_at_once <= 1
        assert versions == sorted(versions)
        # Each run has enough that is new, or is one of a changed pipeline; and what is left is not enough for another.
        digests = {"change", "back"} & {*doings}
        if not digests:
            assert all(after - before >= at_least for before, after in zip([0, *versions], versions, strict=False))
        assert made - (versions[-1] if versions else 0) < at_least
        if digests and versions:
            assert TriggerState.from_json(world.text).last.pipeline == world.digest  # type: ignore[union-attr]
            world.end_runs()
            begun = {"raw": world.dataset().resolve(f"main~{made - versions[-1]}").id}
            assert run.begins(world.maker(), run.beginning(world.find_template(), begun))
