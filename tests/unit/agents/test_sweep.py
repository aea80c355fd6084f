"""A sweep's parts: rungs, reports in logs, values of samplers, JobSets from the template, the study's file."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import pytest

from tensorplane.agents.sweep import reports
from tensorplane.agents.sweep.asha import Asha, Curve, Report, TrialDecision, decisions
from tensorplane.agents.sweep.cluster import Cluster
from tensorplane.agents.sweep.decide import (
    Action,
    Ask,
    Create,
    Job,
    Limits,
    Stop,
    Tell,
    Trial,
    TrialState,
    decide,
    describe,
)
from tensorplane.agents.sweep.journal import Journal
from tensorplane.agents.sweep.spec import RUN, SweepSpec, placeholder
from tensorplane.agents.sweep.study import Study
from tests.unit.agents.fake_api_server import FakeApiServer

RUNGS = Asha(min_steps=2, reduction=2)


def curve(*values: float, ended: bool = False) -> Curve:
    return Curve([Report(step, value) for step, value in enumerate(values, 1)], ended)


def pruned_at(*curves: Curve, minimize: bool = True) -> list[int | None]:
    return [
        decision.pruned_at.step if decision.pruned_at else None
        for decision in decisions(curves, RUNGS, minimize=minimize)
    ]


def test_the_first_trial_at_a_rung_passes_and_a_worse_one_does_not() -> None:
    assert pruned_at(curve(9, 9), curve(9, 10)) == [None, 2]
    assert pruned_at(curve(9, 9), curve(9, 10), minimize=False) == [None, None]


def test_a_decision_waits_for_a_lower_trial_that_may_still_reach_the_rung() -> None:
    waiting = decisions([curve(9), curve(9, 10, ended=True)], RUNGS, minimize=True)
    assert waiting[1] == TrialDecision(settled=False)
    assert pruned_at(curve(9, ended=True), curve(9, 10)) == [None, None]


def test_reports_after_a_rung_that_a_trial_did_not_pass_count_for_nobody() -> None:
    # The second trial trained on while the first was slow; its fourth step must not stop the third.
    assert pruned_at(curve(1, 1, 1, 1), curve(5, 5, 0, 0), curve(1, 0, 1, 0.5)) == [None, 2, None]


def test_a_loss_that_is_not_finite_is_pruned_without_waiting() -> None:
    assert pruned_at(curve(9), curve(9, math.nan), curve(9, math.inf)) == [None, 2, 2]


def test_steps_that_a_restart_repeats_do_not_revise_a_decision() -> None:
    again = Curve([Report(1, 9), Report(2, 9), Report(1, 0), Report(2, 0)], ended=False)
    assert pruned_at(curve(1, 1), again) == [None, 2]


def test_reports_are_read_in_the_order_of_starts(tmp_path: Path) -> None:
    for name, step in (("worker-0.10.log", 4), ("worker-0.2.log", 3), ("worker-0.1.log", 2), ("worker-0.1.log.old", 1)):
        (tmp_path / name).write_text(f'loss=7\ntensorplane: step={step} loss=0.{step} note="a b=c"\n')
    (tmp_path / "worker-0.10.log").open("a").write("tensorplane: step=5 loss=0.")
    assert reports.read_trial(tmp_path, "loss") == [Report(step, step / 10) for step in (1, 2, 3, 4)]
    assert reports.read_trial(tmp_path, "accuracy") == []
    assert reports.read_trial(tmp_path / "none", "loss") == []


def _study(folder: Path, parameters: dict[str, Any], sampler: str, trials: int) -> list[dict[str, Any]]:
    search = {"parameters": parameters, "sampler": sampler, "seed": 3, "direction": "minimize"}
    study = Study(Journal(folder / f"{sampler}.journal").storage, "s", search)
    for _ in range(trials - len(study.list_states())):
        study.add()
    return [dict(study.get_parameters(number)) for number in range(trials)]


def test_the_grid_has_each_combination_once(tmp_path: Path) -> None:
    parameters = {"B": {"choices": ["x", "y"]}, "A": {"low": 1, "high": 3, "step": 1}}
    found = _study(tmp_path, parameters, "grid", 6)
    assert found == [{"A": a, "B": b} for a in (1, 2, 3) for b in ("x", "y")]


def test_random_values_depend_on_seed_and_number_and_fill_the_range(tmp_path: Path) -> None:
    parameters = {"R": {"low": 1e-4, "high": 1e-1, "log": True}, "D": {"low": 0.0, "high": 0.5, "step": 0.25}}
    found = _study(tmp_path, parameters, "random", 40)
    (tmp_path / "other").mkdir()
    assert _study(tmp_path / "other", parameters, "random", 10) == found[:10]
    assert {row["D"] for row in found} == {0.0, 0.25, 0.5}
    rates = sorted(row["R"] for row in found)
    assert 1e-4 <= rates[0] < 3e-4 and 3e-2 < rates[-1] <= 1e-1
    assert 5 < sum(rate < 1e-3 for rate in rates) < 25


def test_an_incomplete_last_line_is_removed_before_the_journal_is_read(tmp_path: Path) -> None:
    parameters = {"A": {"low": 1, "high": 3, "step": 1}}
    before = _study(tmp_path, parameters, "tpe", 2)
    (file,) = tmp_path.glob(".tpe.journal/*/tpe.journal")
    file.open("a").write('{"op_code": 4')
    assert _study(tmp_path, parameters, "tpe", 3)[:2] == before
    assert len(_study(tmp_path, parameters, "tpe", 3)) == 3


def test_a_trial_s_job_set_has_its_name_and_its_values() -> None:
    env = [{"name": name, "value": placeholder(name)} for name in ("RATE", "NESTEROV", "NAME")]
    template = {"metadata": {"name": RUN}, "env": env, "folder": f"/work/{RUN}"}
    made = SweepSpec("s-1", {}, json.dumps(template), Path("logs")).manifest(
        7, {"RATE": 1e-05, "NESTEROV": True, "NAME": 'a"b'}
    )
    assert made["metadata"]["name"] == "s-1-t0007" and made["folder"] == "/work/s-1-t0007"
    assert [each["value"] for each in made["env"]] == ["1e-05", "true", 'a"b']


LIMITS = Limits(trials=4, parallel=2, minimize=True, pruner=RUNGS)
GOOD, BAD = [Report(1, 1.0), Report(2, 1.0)], [Report(1, 5.0), Report(2, 5.0), Report(3, 0.1)]


@pytest.mark.parametrize(
    ("trials", "actions"),
    [
        ([], [Ask(), Ask()]),
        ([Trial(TrialState.OPEN, Job.ABSENT, [])], [Create(0), Ask()]),
        ([Trial(TrialState.OPEN, Job.ACTIVE, GOOD), Trial(TrialState.OPEN, Job.ACTIVE, BAD)], [Stop(1)]),
        (
            [Trial(TrialState.OPEN, Job.ACTIVE, GOOD), Trial(TrialState.OPEN, Job.ABSENT, BAD)],
            [Tell(1, TrialState.PRUNED, Report(1, 5.0)), Ask()],
        ),
        ([Trial(TrialState.OPEN, Job.SUCCEEDED, GOOD)], [Tell(0, TrialState.COMPLETE, Report(1, 1.0)), Ask(), Ask()]),
        ([Trial(TrialState.OPEN, Job.SUCCEEDED, [])], [Tell(0, TrialState.FAILED, None), Ask(), Ask()]),
        ([Trial(TrialState.OPEN, Job.FAILED, GOOD)], [Tell(0, TrialState.FAILED, Report(1, 1.0)), Ask(), Ask()]),
        ([Trial(TrialState.COMPLETE, Job.SUCCEEDED, GOOD)] * 4, []),
        # A former controller has created its JobSet late, once more.
        (
            [Trial(TrialState.PRUNED, Job.ACTIVE, BAD), *[Trial(TrialState.COMPLETE, Job.SUCCEEDED, GOOD)] * 3],
            [Stop(0)],
        ),
    ],
)
def test_what_is_due(trials: list[Trial], actions: list[Any]) -> None:
    assert decide(trials, LIMITS) == actions


@pytest.mark.parametrize(
    ("action", "line"),
    [
        (Ask(), "add a trial"),
        (Create(3), "trial 3: create its job"),
        (Stop(3), "trial 3: stop its job"),
        (Tell(3, TrialState.COMPLETE, Report(600, 0.285)), "trial 3: complete, best 0.285 at step 600"),
        (Tell(3, TrialState.FAILED, None), "trial 3: failed"),
    ],
)
def test_the_log_says_actions_in_words(action: Action, line: str) -> None:
    assert describe(action) == line


def test_a_change_of_a_job_set_ends_the_wait_for_the_next_look(
    api_server: FakeApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    cluster = Cluster(api_server.client, "team", "search", "search-1")
    job_sets = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets"
    api_server.answers["GET", job_sets] = (200, {"metadata": {"resourceVersion": "41"}, "items": []})
    cluster.list_jobs()
    cluster.wait(2)
    _, path, _ = api_server.asked[-1]
    assert path.startswith(f"{job_sets}?labelSelector=app.kubernetes.io%2Fname%3Dsearch&watch=true&resourceVersion=41&")
    assert not slept
    cluster.wait(2)
    assert slept == [2], "a change that was seen must not end a second wait"
