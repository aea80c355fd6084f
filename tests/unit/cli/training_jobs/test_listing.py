"""The list of jobs: states, GPU-hours, order."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tensorplane.cli.kueue import workloads
from tensorplane.cli.kueue.objects import ClusterObjects
from tensorplane.cli.training_jobs import listing

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
FLAVOR = {"metadata": {"name": "tp-t4"}, "spec": {"nodeLabels": {"tensorplane.dev/flavor": "t4"}}}


def _at(hours: float) -> str:
    return (NOW - timedelta(hours=hours)).isoformat()


def job_set(name: str, *conditions: tuple[str, float], suspend: bool = False, ready: int = 0) -> dict[str, Any]:
    """A job of two pods with 4 GPUs each, created 10 hours ago."""
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "4"}}}
    pod = {"spec": {"containers": [container]}}
    job = {"name": "worker", "replicas": 1, "template": {"spec": {"parallelism": 2, "template": pod}}}
    return {
        "metadata": {
            "name": name,
            "namespace": "ml",
            "uid": f"uid-{name}",
            "creationTimestamp": _at(10),
            "labels": {"app.kubernetes.io/name": name.partition("-")[0], "kueue.x-k8s.io/queue-name": "research"},
        },
        "spec": {"suspend": suspend, "replicatedJobs": [job]},
        "status": {
            "restarts": 2,
            "replicatedJobsStatus": [{"name": "worker", "ready": ready, "succeeded": 0}],
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": _at(hours)} for kind, hours in conditions
            ],
        },
    }


def work(name: str, *, reserved: float | None = None, before: int = 0) -> dict[str, Any]:
    """Its Workload. `reserved`: since how many hours it holds its quota. `before`: seconds of former admissions."""
    conditions = [{"type": "QuotaReserved", "status": "True", "lastTransitionTime": _at(reserved)}] if reserved else []
    assigned = [{"flavors": {"nvidia.com/gpu": "tp-t4"}, "resourceUsage": {"nvidia.com/gpu": "8"}}]
    return {
        "metadata": {
            "name": f"jobset-{name}",
            "namespace": "ml",
            "uid": f"work-{name}",
            "creationTimestamp": _at(10),
            "ownerReferences": [{"name": name, "uid": f"uid-{name}"}],
        },
        "spec": {"queueName": "research", "podSets": []},
        "status": {
            "conditions": conditions,
            "accumulatedPastExecutionTimeSeconds": before,
            **({"admission": {"clusterQueue": "tp-research", "podSetAssignments": assigned}} if reserved else {}),
        },
    }


def _jobs(job_sets: list[dict[str, Any]], works: list[dict[str, Any]]) -> list[listing.Job]:
    found = workloads.works(ClusterObjects("ml", workloads=works))
    return listing.list_jobs(job_sets, found, [FLAVOR], NOW)


def test_a_running_job_has_its_flavor_and_the_gpu_hours_of_all_admissions() -> None:
    (job,) = _jobs([job_set("digits-1", ready=1)], [work("digits-1", reserved=1.5, before=1800)])
    assert (job.name, job.run, job.state, job.flavors) == ("digits", "digits-1", "running", ("t4",))
    assert (job.pods, job.gpus, job.restarts, job.gpu_hours) == (2, 8, 2, 16.0)


def test_of_a_job_that_waits_the_metadata_and_the_workload_are_enough() -> None:
    whole, waits = job_set("digits-1", suspend=True), work("digits-1")
    waits["spec"]["podSets"] = [
        {"name": "worker", "count": 2, "template": whole["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]}
    ]
    whole["status"] = {}
    assert _jobs([{"metadata": whole["metadata"]}], [waits]) == _jobs([whole], [waits])


@pytest.mark.parametrize(
    ("made", "of_kueue", "state", "hours"),
    [
        (job_set("a-1", suspend=True), work("a-1"), "waiting", 0),
        (job_set("a-1"), work("a-1", reserved=1), "starting", 8),
        (job_set("a-1", ("Completed", 1)), work("a-1", reserved=3), "finished", 16),
        (job_set("a-1", ("Failed", 2)), work("a-1", reserved=3), "failed", 8),
    ],
)
def test_each_state_and_what_it_has_cost(
    made: dict[str, Any], of_kueue: dict[str, Any], state: str, hours: float
) -> None:
    (job,) = _jobs([made], [of_kueue])
    assert (job.state, job.gpu_hours) == (state, hours)


def test_a_job_without_a_queue_has_held_its_gpus_since_it_was_created() -> None:
    made = job_set("a-1", ready=1)
    del made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]
    (job,) = _jobs([made], [])
    assert (job.state, job.queue, job.gpu_hours) == ("running", None, 80.0)


def _priced(*usd: float) -> dict[str, Any]:
    nodes = [{"usd": each, "cpus": 32, "memory_gib": 128, "accelerators": 4} for each in usd]
    return {**FLAVOR, "metadata": {"name": "tp-t4", "annotations": {"tensorplane.dev/node-prices": json.dumps(nodes)}}}


def _admitted(hours: float) -> dict[str, Any]:
    """Two pods with 2 of a node's 4 GPUs each."""
    made = work("a-1", reserved=hours, before=3600)
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"nvidia.com/gpu": "2"}}
    template = {"spec": {"containers": [{"resources": resources}]}}
    made["spec"]["podSets"] = [{"name": "worker", "count": 2, "template": template}]
    made["status"]["admission"]["podSetAssignments"][0]["name"] = "worker"
    return made


@pytest.mark.parametrize(
    ("flavor", "cost"),
    [(FLAVOR, None), (_priced(4), (12, 12)), (_priced(4, 8), (12, 24))],
    ids=["unknown", "one", "two"],
)
def test_the_cost_so_far_is_that_of_the_gpus_it_has_kept_from_others(
    flavor: dict[str, Any], cost: tuple[float, float] | None
) -> None:
    works = workloads.works(ClusterObjects("ml", workloads=[_admitted(hours=2)]))
    (job,) = listing.list_jobs([job_set("a-1", ready=1)], works, [flavor], NOW)
    assert (job.usd and (job.usd.low, job.usd.high)) == cost


def test_running_jobs_come_first_then_waiting_ones_then_those_that_ended_last() -> None:
    made = [
        job_set("early-1", ("Completed", 5)),
        job_set("late-1", ("Failed", 1)),
        job_set("waits-1", suspend=True),
        job_set("runs-1", ready=1),
    ]
    assert [job.name for job in _jobs(made, [work("runs-1", reserved=1)])] == ["runs", "waits", "late", "early"]


def test_the_next_run_is_expected_to_last_as_long_as_the_latest_that_finished() -> None:
    sets = [
        job_set("a-1", ("Completed", 6)),
        job_set("a-2", ("Completed", 1)),
        job_set("a-3", ("Failed", 0.5)),
        job_set("b-1", ready=1),
    ]
    works = workloads.works(
        ClusterObjects("ml", workloads=[work("a-1", reserved=9), work("a-2", reserved=3, before=1800)])
    )
    assert listing.durations_of(sets, works) == {"a": 2.5 * 3600}
