"""What a JobSet says about its run."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.driver.runs.job_set import JobSet


def _job_set(run: str, *mounts: tuple[str, str]) -> JobSet:
    pod: dict[str, Any] = {
        "volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name, _ in mounts],
        "containers": [
            {
                "env": [{"name": "TENSORPLANE_RUN", "value": run}] if run else [],
                "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts],
            }
        ],
    }
    role = {"name": "worker", "template": {"spec": {"template": {"spec": pod}}}}
    return JobSet({"metadata": {"name": "job-1"}, "spec": {"replicatedJobs": [role]}})


@pytest.mark.parametrize(
    ("run", "where"),
    [
        ("/models/checkpoints/job-1", "models:/checkpoints/logs/job-1"),
        ("/models/job-1", "models:/logs/job-1"),
        ("/models-b/job-1", "other:/logs/job-1"),
        ("/elsewhere/job-1", ""),
        ("", ""),
    ],
)
def test_kept_lines_are_beside_the_runs_checkpoints(run: str, where: str) -> None:
    assert _job_set(run, ("data", "/data"), ("models", "/models"), ("other", "/models-b")).kept_lines == where
