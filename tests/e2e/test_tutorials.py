"""Programs of the shape of TensorFlow's own tutorials run as jobs: they know nothing of tensorplane."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import LEGACY, SERVERS, WORKERS, Ended, Job, deployed_jobs
from tests.support.waiting import PATIENT_SECONDS

# The tutorials were written for Keras 2, but for `fit` with Keras 3.
ALL = [
    Job(
        "multi-worker-keras",
        "tutorial_multi_worker_keras.py",
        WORKERS,
        command=["python3", "tutorial_multi_worker_keras.py", "/tmp/model.keras"],
    ),
    Job(
        "multi-worker-keras-2",
        "tutorial_multi_worker_keras.py",
        WORKERS,
        LEGACY,
        command=["python3", "tutorial_multi_worker_keras.py", "/tmp/keras-model"],
    ),
    Job("multi-worker-loop", "tutorial_multi_worker_loop.py", WORKERS, LEGACY),
    Job("custom-training", "tutorial_custom_training.py", env=LEGACY),
    Job("distributed-guide", "tutorial_distributed_guide.py"),
    Job(
        "parameter-server",
        "tutorial_parameter_server.py",
        {**SERVERS, "servers": 2},
        LEGACY,
        saves=True,
        command=["python3", "tutorial_parameter_server.py", "/work/tutorial"],
    ),
]


@pytest.mark.nightly("six jobs of TensorFlow; make test trains with the library and without")
def test_programs_of_the_tutorials_run_unchanged(deployed: Deployed, tmp_path: Path) -> None:
    with deployed_jobs(deployed, tmp_path, "tutorials", ALL) as running:
        ended = {job.name: running.ended(job.name, PATIENT_SECONDS * len(ALL)) for job in ALL}
        # Those of ps and workers, too, which never end by themselves.
        assert all(running.all_end(job.name) for job in ALL)
    faults = [f"{name}: {fault}\n{one}" for name, one in ended.items() if (fault := _problem(one))]
    assert not faults, "\n".join(faults)


def _problem(ended: Ended) -> str:
    """What is wrong with a job's end; empty if its program finished, with the same weights in all workers."""
    if not ended.succeeded or ended.restarts:
        return f"failed, restarts: {ended.restarts}"
    # TensorFlow may log an error after it, where worker 0, which runs the coordination service, has ended earlier.
    said = {weights for log in ended.logs.values() for weights in re.findall(r"tutorial=finished (\S+)", log)}
    return "" if len(said) == 1 else f"finished with {said}"
