"""The GPU-hours that the cluster records are those of Kueue, although the program that records them is killed."""

from __future__ import annotations

import pytest

from agents.usage.record import PREFIX, Record
from components import versions
from components.base.labels import COMPONENT
from components.queues.usage import ACCOUNT
from embedded.cluster import processes
from embedded.cluster.image_store import ImageStore
from embedded.cluster.places import Places
from embedded.paths import Instance
from embedded.provider.api import GVK
from embedded.step import Step
from tests.queues.jobs import POD, WORKLOAD, WORKLOADS, Jobs, Object, workers
from tests.support.waiting import eventually

TEAM = "speech"
_DEPLOYMENT = GVK("apps", "v1", "Deployment")
_GPUS = 4
_SECONDS = 15
"""What a job uses in this test."""


@pytest.fixture
def recorded(queues: Jobs, fleet_instance: Instance) -> Jobs:
    """Queues whose usage is recorded every second."""
    alive = processes.find(fleet_instance)
    assert alive
    ImageStore(Places(fleet_instance), alive).load((versions.EMBEDDED_IMAGES.python,), Step("Python's image"))
    env = [{"name": "SECONDS_BETWEEN_LOOKS", "value": "1"}]
    body = {"spec": {"template": {"spec": {"containers": [{"name": "main", "env": env}]}}}}
    kind = "application/strategic-merge-patch+json"
    queues.api.patch(_DEPLOYMENT, ACCOUNT, queues.stack, body, manager="test", content_type=kind)
    return queues


def _pods(jobs: Jobs) -> list[str]:
    at = f"/api/v1/namespaces/{jobs.stack}/pods"
    return [one["metadata"]["name"] for one in jobs.kube.items(at, labelSelector=f"{COMPONENT}=usage")]


def _gpu_seconds(jobs: Jobs) -> float:
    path = f"/api/v1/namespaces/{jobs.stack}/configmaps/{PREFIX}{TEAM}"
    usage = Record.read((jobs.kube.get(path) or {}).get("data") or {}).usage
    return sum(count for month in usage.values() for count in month.get("research", {}).values())


def _workload(jobs: Jobs) -> Object:
    (found,) = (one for one in jobs.kube.items(WORKLOADS) if one["metadata"]["namespace"] == TEAM)
    return found


def _ran(jobs: Jobs) -> int:
    """Seconds that Kueue has added up, once it has evicted the job."""
    return int(_workload(jobs).get("status", {}).get("accumulatedPastExecutionTimeSeconds") or 0)


def test_a_killed_program_counts_what_kueue_counts(recorded: Jobs) -> None:
    jobs = recorded
    before = _gpu_seconds(jobs)
    jobs.create("counted", "research", [workers(1, _GPUS, card="t4")], namespace=TEAM)
    for part in (1, 2, 3):
        eventually(lambda: _gpu_seconds(jobs) - before > part * _GPUS * _SECONDS / 3)  # noqa: B023
        for name in _pods(jobs):
            jobs.api.delete(POD, name, jobs.stack)
    name = _workload(jobs)["metadata"]["name"]
    jobs.api.patch(WORKLOAD, name, TEAM, {"spec": {"active": False}}, manager="test")
    ran = eventually(lambda: _ran(jobs)) or 0
    assert ran >= _SECONDS - 1
    # Kueue counts whole seconds, and the program until it sees the eviction.
    eventually(lambda: abs(_gpu_seconds(jobs) - before - ran * _GPUS) <= _GPUS)
