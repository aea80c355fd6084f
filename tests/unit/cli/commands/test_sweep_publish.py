"""`tensorplane sweep --publish`: the job that publishes the best trial, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tensorplane.cli.commands.run import plan
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.sweep import command
from tensorplane.cli.commands.sweep.results import Results, Trial
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tests.support.rendering import PROJECT, settings_of

TRIAL: dict[str, Any] = {
    "volumes": {"work": {"path": "/work", "readOnly": False}},
    "model": {"volume": "work", "path": "digits"},
    "queue": "search",
}
TRIALS = [
    Trial(0, "digits-search-1a-t0000", "complete", {}, 0.5, 400),
    Trial(1, "digits-search-1a-t0001", "complete", {}, 0.2, 400),
    Trial(2, "digits-search-1a-t0002", "pruned", {}, 0.1, 100),
]
FOUND = Results("digits-search-1a", "loss", False, 3, TRIALS, finished=True)


def _platform() -> Platform:
    tree = settings_of(PROJECT / "examples" / "sweep.yaml").tree
    server = {"kind": "modelServer", "model": {"volume": "served", "path": "best"}}
    volumes = {**tree["volumes"], "served": {"sizeGib": 1, "accessModes": ["ReadWriteMany"]}}
    return Platform("dev", Settings({**tree, "volumes": volumes, "workloads": {**tree["workloads"], "digits": server}}))


def _refused(found: Results = FOUND, trial: dict[str, Any] = TRIAL, server: str = "digits") -> str:
    with pytest.raises(UserError) as told:
        job, _ = command.publication_job("digits-search", found, trial, server, _platform())
        plan.planned(job, _platform())
    return str(told.value)


def test_the_job_copies_the_best_complete_trial_in_its_name() -> None:
    job, best = command.publication_job("digits-search", FOUND, TRIAL, "digits", _platform())
    assert best == "digits-search-1a-t0001"
    planned = plan.planned(job, _platform(), publisher=best)
    spec = planned.objects[0]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
    variables = {each["name"]: each.get("value") for each in spec["env"]}
    assert variables["MODEL_DIR"] == f"/work/digits/{best}"
    assert json.loads(variables["TENSORPLANE_LINEAGE"])["run"] == best
    words = spec["command"]
    assert words[words.index("--publish-to") + 1] == "/served/best"
    assert {"/work", "/served"} <= {each["mountPath"] for each in spec["volumeMounts"]}
    assert planned.objects[0]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "search"


def test_what_cannot_be_published_is_one_line() -> None:
    running = [*TRIALS[:2], Trial(2, "digits-search-1a-t0002", "open", {}, None, None)]
    assert _refused(replace(FOUND, finished=False, trials=running)).startswith(
        "--publish: digits-search-1a has ended 2 of 3 trials"
    )
    assert _refused(replace(FOUND, trials=TRIALS[2:])).startswith("--publish: no trial of digits-search-1a is complete")
    assert "keep no model; set workloads.digits-search.trial.model" in _refused(trial={**TRIAL, "model": None})
    assert _refused(server="digit").startswith("--publish: no model server is named 'digit'; choose one of digits")
