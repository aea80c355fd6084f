"""A worker that dies takes its gang with it: JobSet starts both again, and they go on from the last checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from driver.watch import Outputs
from embedded.step import Step
from tests.e2e import long_run
from tests.e2e.conftest import Deployed
from tests.e2e.long_run import Run

# More than any machine trains before the worker dies.
ENDLESS = 1_000_000


@pytest.fixture
def endless(deployed: Deployed, tmp_path: Path) -> Iterator[Outputs]:
    """The dev stack with an endless run, which must not keep the queue from later tests."""
    try:
        yield Outputs.of(long_run.deployed(deployed.stack, tmp_path, steps=ENDLESS).outputs())
    finally:
        deployed.stack.prepare(Step("prepare"))
        deployed.stack.up(Step("pulumi up"))


def test_a_killed_worker_restarts_the_gang_from_its_checkpoint(deployed: Deployed, endless: Outputs) -> None:
    run = Run(deployed.kube, endless)
    saved = int(run.said(r"saved=(\d+)").group(1))
    chief, victim = run.newest(0), run.newest(1)
    assert chief and victim

    # No grace: what a node that dies does to its pods.
    deployed.kube.delete(f"{run.pods_path}/{victim['metadata']['name']}", gracePeriodSeconds="0")

    first_line = run.said(rf" step=(\d+) steps={ENDLESS} ", not_by=chief["metadata"]["name"])
    step = int(first_line.group(1))
    # Whoever is left is asked to stop, and may save once more.
    assert saved <= step < ENDLESS, "it goes on from what was saved, and does not begin again"
    job_set = deployed.kube.get(
        f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{endless.namespace}/jobsets/{endless.job_set}"
    )
    assert job_set is not None
    assert job_set["status"]["restarts"] >= 1
