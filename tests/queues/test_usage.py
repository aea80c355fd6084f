"""The GPU-hours that the cluster records are those of Kueue, although the program that records them is killed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tensorplane.agents.quota_return.objects import condition, parse_time
from tensorplane.agents.usage.state import PREFIX, UsageState
from tensorplane.components.queues.usage import ACCOUNT
from tests.queues import agents
from tests.queues.jobs import WORKLOAD, Jobs, workers
from tests.support.simulated import Simulated
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("killed; unit tests of agents/usage kill it at each step")
TEAM = "speech"
_JOB = "counted"
_GPUS = 4
_PART_SECONDS = 2
"""What the job uses between two kills, at least: more than one look, and more than Kueue rounds."""


@pytest.fixture
def recorded(queues: Jobs, fleet: Simulated) -> Iterator[Jobs]:
    """Queues whose usage is recorded every second."""
    with agents.running(queues, fleet, ACCOUNT, {"SECONDS_BETWEEN_LOOKS": "1"}):
        yield queues


def _record(jobs: Jobs) -> UsageState:
    path = f"/api/v1/namespaces/{jobs.stack}/configmaps/{PREFIX}{TEAM}"
    return UsageState.from_data((jobs.kube.get(path) or {}).get("data") or {})


def _gpu_seconds(jobs: Jobs) -> float:
    return sum(count for month in _record(jobs).usage.values() for count in month.get("research", {}).values())


def _past(jobs: Jobs) -> int:
    """Seconds of former admissions that the record has of the job, the only one that is not done."""
    return sum(state["past"] for state in _record(jobs).workloads.values() if state)


def _ran(jobs: Jobs) -> int:
    """Seconds that Kueue has added up, once it has evicted the job."""
    return int(jobs.workload(_JOB)["status"].get("accumulatedPastExecutionTimeSeconds") or 0)


def test_a_killed_program_counts_what_kueue_counts(recorded: Jobs) -> None:
    jobs = recorded
    before = _gpu_seconds(jobs)
    jobs.create(_JOB, "research", [workers(1, _GPUS, card="t4")], namespace=TEAM)
    for part in (1, 2, 3):
        eventually(lambda: _gpu_seconds(jobs) - before > part * _GPUS * _PART_SECONDS)  # noqa: B023
        for pod in agents.pods(jobs, ACCOUNT):
            path = f"/api/v1/namespaces/{jobs.stack}/pods/{pod['metadata']['name']}"
            jobs.kube.delete(path, gracePeriodSeconds="0")
    workload = jobs.workload(_JOB)
    since = parse_time(condition(workload, "Admitted")["lastTransitionTime"]).timestamp()
    jobs.api.patch(WORKLOAD, workload["metadata"]["name"], TEAM, {"spec": {"active": False}}, manager="test")
    ran = eventually(lambda: _ran(jobs)) or 0
    took = time.time() - since
    assert ran >= 3 * _PART_SECONDS - 1
    # Once the record has the eviction, nothing is added to it.
    eventually(lambda: _past(jobs) == ran)
    assert ran * _GPUS <= _gpu_seconds(jobs) - before <= took * _GPUS
