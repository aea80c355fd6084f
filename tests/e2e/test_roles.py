"""Pods beside those that train, an evaluator and tf.data service, and programs that start their servers themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import SMALL, WORKERS, Job, Running, deployed_jobs
from tests.support.waiting import PATIENT_SECONDS

pytestmark = pytest.mark.nightly("eleven pods with TensorFlow; tests/runtime has its processes")

EVALUATED = Job(
    "evaluated",
    "evaluated.py",
    {**WORKERS, "evaluator": {"command": ["python3", "evaluate.py"], "resources": SMALL}},
    saves=True,
)
SERVED = Job(
    "served", "served_data.py", {"kind": "single", "dataService": {"workers": 2, "resources": SMALL}}, saves=True
)
OLDER = Job(
    "older",
    "between_graph.py",
    {"kind": "parameterServer", "mode": "betweenGraph", "workers": 2, "servers": 2, "serverResources": SMALL},
    saves=True,
    command=[
        *("python3", "between_graph.py", "--ps_hosts=$(TF_PS_HOSTS)", "--worker_hosts=$(TF_WORKER_HOSTS)"),
        *("--job_name=$(TF_JOB_NAME)", "--task_index=$(TF_TASK_INDEX)"),
    ],
)
JOBS = [EVALUATED, SERVED, OLDER]
_ACCURACY = re.compile(r"accuracy(?:_of_graph)?=(\d\.\d+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def running(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with deployed_jobs(deployed, tmp_path_factory.mktemp("roles"), "roles", JOBS) as found:
        yield found


def _accuracies(running: Running, job: Job, role: str = "worker") -> list[float]:
    # They wait for each other in the queue.
    ended = running.ended(job.name, PATIENT_SECONDS * len(JOBS))
    assert ended.succeeded, str(ended)
    assert not ended.restarts, str(ended)
    found = [_ACCURACY.findall(log)[-1] for task, log in ended.logs.items() if task.startswith(f"{role}-")]
    return [float(each) for each in found]


def test_an_evaluator_measures_the_checkpoints_until_the_job_ends(running: Running) -> None:
    assert min(_accuracies(running, EVALUATED)) >= 0.95
    chief = running.logs(EVALUATED.name)["worker-0"]
    by_evaluator = re.search(r"by_evaluator=(\d\.\d+)", chief)
    assert by_evaluator
    assert by_evaluator[1] == _ACCURACY.findall(chief)[-1], "it measured the weights with which training ended"
    assert running.all_end(EVALUATED.name)


def test_a_data_service_delivers_each_example_once_an_epoch(running: Running) -> None:
    assert min(_accuracies(running, SERVED)) >= 0.95
    assert running.all_end(SERVED.name)


def test_an_older_program_trains_with_the_hosts_in_its_parameters(running: Running) -> None:
    accuracies = _accuracies(running, OLDER)
    assert len(accuracies) == 2
    # The order of the gradients is the machine's.
    assert min(accuracies) >= 0.8
    assert running.all_end(OLDER.name), "parameter servers, which never end by themselves, end with the workers"
