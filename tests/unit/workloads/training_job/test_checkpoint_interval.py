"""How often a job saves: by steps, or by how often it is interrupted, in its pods' variables."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.workloads.pods.mounts import Mountable
from tensorplane.workloads.training_job.manifest import JobManifest
from tensorplane.workloads.training_job.settings import Checkpoints
from tests.support.planned_jobs import job_context, planned, variables

_STEPS, _MINUTES = "CHECKPOINT_STEPS", "CHECKPOINT_INTERRUPTION_MINUTES"


def _saving(**checkpoints: Any) -> JobManifest:
    known = job_context(volumes={"models": Mountable("models-claim", "/models")})
    return planned(known, volumes={"models": None}, checkpoints={"volume": "models", **checkpoints})


@pytest.mark.parametrize(
    ("checkpoints", "expected"),
    [
        ({}, {_STEPS: "100"}),
        ({"everySteps": 7}, {_STEPS: "7"}),
        ({"interruptionMinutes": 90}, {_MINUTES: "90"}),
        ({"interruptionMinutes": 0.5}, {_MINUTES: "0.5"}),
    ],
)
def test_pods_get_steps_or_minutes(checkpoints: dict[str, Any], expected: dict[str, str]) -> None:
    found = variables(_saving(**checkpoints))
    assert {name: found[name] for name in (_STEPS, _MINUTES) if name in found} == expected


def test_run_stays_the_same_when_its_interval_changes() -> None:
    assert len({_saving(**each).run.name for each in ({}, {"everySteps": 7}, {"interruptionMinutes": 90})}) == 1


def test_both_are_refused() -> None:
    with pytest.raises(ValueError, match="one of everySteps and interruptionMinutes, not both"):
        Checkpoints.model_validate({"volume": "models", "everySteps": 7, "interruptionMinutes": 90})
