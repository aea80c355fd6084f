"""A worker that dies takes its gang with it: JobSet starts both again, and they go on from the last checkpoint."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from embedded import linked_project, watch
from embedded.kube import Kube
from embedded.paths import PROJECT
from embedded.progress import Step
from embedded.watch import Outputs
from tests.e2e.conftest import Deployed

STEPS = 6000
SAVE_EVERY = 200


@pytest.fixture
def long_run(deployed: Deployed, tmp_path: Path) -> Outputs:
    """The dev stack with a job long enough to be disturbed: another run of the same job."""
    text = (PROJECT / "Pulumi.dev.yaml").read_text()
    settings = re.sub(r"STEPS: \d+", f"STEPS: {STEPS}", text)
    settings = settings.replace(
        "checkpoints: {volume: models}", f"checkpoints: {{volume: models, everySteps: {SAVE_EVERY}}}"
    )
    assert settings != text
    stack = linked_project.with_settings(deployed.stack, tmp_path, settings)
    stack.prepare(Step("prepare"))
    stack.up(Step("pulumi up"))
    return Outputs.of(stack.outputs())


class Run:
    """What one run's pods are and say."""

    def __init__(self, kube: Kube, outputs: Outputs) -> None:
        self.kube, self.outputs = kube, outputs
        self.pods_path = f"/api/v1/namespaces/{outputs.namespace}/pods"

    def newest(self, worker: int) -> dict[str, Any] | None:
        run = f"jobset.sigs.k8s.io/jobset-name={self.outputs.job_set}"
        which = f"batch.kubernetes.io/job-completion-index={worker}"
        pods = self.kube.items(self.pods_path, labelSelector=f"{run},{which}")
        return max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None)

    def said(self, pattern: str, seconds: float, *, not_by: str = "") -> re.Match[str]:
        """Waits for a line of the chief's newest pod, other than the pod `not_by`."""
        deadline = time.monotonic() + seconds
        while True:
            chief = self.newest(0)
            name = chief["metadata"]["name"] if chief else ""
            log = self.kube.text(f"{self.pods_path}/{name}/log") if name and name != not_by else ""
            if found := re.search(pattern, log):
                return found
            assert time.monotonic() < deadline, f"no {pattern!r} within {seconds} s:\n{log}"
            time.sleep(0.5)


def test_a_killed_worker_restarts_the_gang_from_its_checkpoint(deployed: Deployed, long_run: Outputs) -> None:
    run = Run(deployed.kube, long_run)
    saved = int(run.said(r"saved=(\d+)", 120).group(1))
    chief, victim = run.newest(0), run.newest(1)
    assert chief and victim

    # No grace: what a node that dies does to its pods.
    deployed.kube.delete(f"{run.pods_path}/{victim['metadata']['name']}", gracePeriodSeconds="0")

    first_line = run.said(rf" step=(\d+) steps={STEPS} ", 120, not_by=chief["metadata"]["name"])
    step = int(first_line.group(1))
    # Whoever is left is asked to stop, and may save once more.
    assert saved <= step < STEPS, "it goes on from what was saved, and does not begin again"
    watch.training(deployed.kube, long_run, Step("training"))
    job_set = deployed.kube.get(
        f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{long_run.namespace}/jobsets/{long_run.job_set}"
    )
    assert job_set is not None
    assert job_set["status"]["restarts"] >= 1
