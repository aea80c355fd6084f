"""The runs of jobs as they were deployed last: from the outputs of this version and of those before, never of newer."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from tensorplane.components.base import outputs
from tensorplane.workloads.training_job import deployed_runs

_DEPLOYED: dict[str, dict[str, Any]] = {
    "digits": {"jobSet": "digits-1", "run": {"name": "digits-1", "decisive": {}, "manifest": "m", "kept": False}},
    "server": {"deployment": "server"},
}


@pytest.mark.parametrize("version", [None, 1.0])
def test_runs_are_known_by_their_jobs(version: float | None) -> None:
    assert {name: run.name for name, run in deployed_runs.of(version, _DEPLOYED).items()} == {"digits": "digits-1"}


def test_a_stack_that_was_never_deployed_has_no_runs() -> None:
    assert deployed_runs.of(None, None) == {}


def test_a_newer_versions_runs_are_refused_in_one_line() -> None:
    with pytest.raises(pulumi.RunError) as refused:
        deployed_runs.of(outputs.VERSION + 1, _DEPLOYED)
    assert str(refused.value) == (
        "a newer tensorplane deployed this stack: its facts have version 2, and this one reads 1; "
        "use the version that deployed it, or a newer one"
    )
