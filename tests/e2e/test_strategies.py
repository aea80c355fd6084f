"""Each strategy with `fit` of Keras 3, with `fit` of tf_keras and with a loop, as jobs of one update."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import LEGACY, SERVERS, SINGLE, WORKERS, Ended, Job, deployed_jobs
from tests.support.waiting import PATIENT_SECONDS

STRATEGIES = {
    "single": SINGLE,
    # The settings refuse strategy mirrored without GPUs; the program makes two replicas of one processor.
    "mirrored": SINGLE,
    "workers": WORKERS,
    "servers": SERVERS,
}
_SAID = re.compile(r"^(?:weights=(\w+)|tensorplane:) accuracy=(\d\.\d+)", re.MULTILINE)
"""What the programs print at their end, and examples/digits/train.py."""
NAMES = {"single": "single", "mirrored": "mirrored", "workers": "multiWorkerMirrored", "servers": "parameterServer"}
WITHOUT = {("servers", "plain"), ("servers", "loop")}
"""Keras 3 has no `fit` of its own on parameter servers; their loop is that of examples/digits."""


def _job(strategy: str, kind: str) -> Job:
    program = {"fit": "tensorplane_fit.py", "loop": "plain_loop.py"}.get(kind, "plain_fit.py")
    env = {"STRATEGY": NAMES[strategy], **(LEGACY if kind == "legacy" else {})}
    return Job(f"{strategy}-{kind}", program, STRATEGIES[strategy], env)


KINDS = ("plain", "fit", "legacy", "loop")
ALL = [_job(each, kind) for each in STRATEGIES for kind in KINDS if (each, kind) not in WITHOUT]
ALL.append(Job("servers-loop", "train.py", SERVERS, {"STEPS": "600"}, saves=True))


@pytest.mark.nightly("all strategies with all ways to train; the dev stack's job and the kill of its gang are in e2e")
def test_digits_are_learned_and_all_workers_end_with_the_same_weights(deployed: Deployed, tmp_path: Path) -> None:
    with deployed_jobs(deployed, tmp_path, "strategies", ALL) as running:
        ended = [(job, running.ended(job.name, PATIENT_SECONDS * len(ALL))) for job in ALL]
    faults = [f"{job}: {fault}\n{one}" for job, one in ended if (fault := _problem(job, one))]
    assert not faults, "\n".join(faults)


def _problem(job: Job, ended: Ended) -> str:
    """What is wrong with a job's end; empty if it learned the digits."""
    if not ended.succeeded:
        return "failed"
    # Only the chief of a job with parameter servers runs the program.
    tasks = ["chief-0"] if job.strategy is SERVERS else sorted(ended.logs)
    found = [_SAID.search(ended.logs[task]) for task in tasks]
    said = [each.groups() for each in found if each]
    if len(said) < len(tasks):
        return f"accuracy said by {len(said)} of {tasks}"
    if len({weights for weights, _ in said}) > 1:
        return f"weights differ: {said}"
    # With parameter servers, the order of the gradients is the machine's.
    least = 0.8 if job.strategy is SERVERS else 0.95
    return "" if all(float(accuracy) >= least for _, accuracy in said) else f"accuracy too low: {said}"
