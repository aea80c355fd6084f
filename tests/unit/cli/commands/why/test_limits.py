"""Limits of a namespace that stop a job: `tensorplane why` names them, with the numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tensorplane.cli.commands.why import limits, pods, reasons
from tensorplane.cli.kueue.objects import JobObjects
from tests.unit.cli.commands.why.test_why import WAITING, WAITING_DETAILS, changed
from tests.unit.cli.kueue.recorded import observed


def _range(kind: str, **of: Any) -> dict[str, Any]:
    return {"metadata": {"name": "lab"}, "spec": {"limits": [{"type": kind, **of}]}}


def _pods(*containers: dict[str, Any], before: tuple[dict[str, Any], ...] = ()) -> list[dict[str, Any]]:
    spec = {"containers": [{"resources": each} for each in containers]}
    spec["initContainers"] = [{"resources": each} for each in before]
    return [{"name": "worker", "template": {"spec": spec}}]


ONE = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"memory": "1Gi", "nvidia.com/gpu": "4"}}


@pytest.mark.parametrize(
    ("limit", "line"),
    [
        (
            _range("Container", max={"memory": "512Mi"}),
            "LimitRange lab allows a container at most 512Mi of memory, but one of the worker pods has 1 GiB.",
        ),
        (
            _range("Container", max={"nvidia.com/gpu": "2"}),
            "LimitRange lab allows a container at most 2 of nvidia.com/gpu, but one of the worker pods has 4.",
        ),
        (
            _range("Container", min={"cpu": "2500m"}),
            "LimitRange lab allows a container at least 2500m of cpu, but one of the worker pods requests 2.",
        ),
        (
            _range("Pod", max={"memory": "1536Mi"}),
            "LimitRange lab allows a pod at most 1536Mi of memory, but one of the worker pods has 2 GiB.",
        ),
        (
            # Without a limit of its own, a container gets the default.
            _range("Container", default={"cpu": "5"}, maxLimitRequestRatio={"cpu": "2"}),
            "LimitRange lab allows a container limits of cpu up to 2 times its requests, but in one of the worker pods"
            " they are 2.5 times.",
        ),
    ],
)
def test_a_limit_range_that_pods_cross_is_named_with_the_numbers(limit: dict[str, Any], line: str) -> None:
    assert limits.crossed(_pods(ONE, ONE), [limit]) == (line,)


@pytest.mark.parametrize(
    "limit",
    [
        _range("Container", max={"memory": "1Gi", "cpu": "2", "nvidia.com/gpu": "4"}, min={"cpu": "2"}),
        _range("Pod", max={"memory": "2Gi", "cpu": "4"}),
        _range("PersistentVolumeClaim", max={"storage": "1Gi"}),
        _range("Container", maxLimitRequestRatio={"memory": "1"}),
    ],
)
def test_limits_that_they_keep_are_not(limit: dict[str, Any]) -> None:
    assert limits.crossed(_pods(ONE, ONE, before=(ONE,)), [limit]) == ()


def test_containers_before_the_others_run_one_by_one() -> None:
    large = {"requests": {"memory": "3Gi"}}
    assert limits.crossed(_pods(ONE, before=(ONE, large)), [_range("Pod", max={"memory": "3Gi"})]) == ()
    (line,) = limits.crossed(_pods(ONE, before=(ONE, large)), [_range("Pod", max={"memory": "2Gi"})])
    assert line.endswith("has 3 GiB.")


@pytest.mark.parametrize("state", ["waiting", "admitted"])
def test_a_job_that_waits_or_was_admitted_hears_of_it(state: str) -> None:
    facts = WAITING
    if state == "waiting":
        facts = changed(WAITING, "low5", conditions=[])
        facts = replace(facts, workloads=[one for one in facts.workloads if "low5" in one["metadata"]["name"]])
    details = {
        job: replace(each, limit_ranges=[_range("Pod", max={"cpu": "1"})]) for job, each in WAITING_DETAILS.items()
    }
    job = "low5-aaaa"
    if state == "admitted":
        admitted = [{"type": kind, "status": "True"} for kind in ("QuotaReserved", "Admitted")]
        given = {"clusterQueue": "tensorplane-dev-research", "podSetAssignments": []}
        facts = changed(WAITING, "low5", conditions=admitted, admission=given)
    found = reasons.answer(observed(facts, details, job))
    assert found.state == state
    assert "LimitRange lab allows a pod at most 1 of cpu, but one of the worker pods has 2." in found.lines


def test_a_resource_quota_that_stops_its_jobs_is_named_with_the_numbers() -> None:
    reason = "exceeded quota: lab, requested: count/jobs.batch=1, used: count/jobs.batch=0, limited: count/jobs.batch=0"
    message = f'job "sweep-1-worker-0" creation failed with error: jobs.batch "sweep-1-worker-0" is forbidden: {reason}'
    event = {
        "involvedObject": {"kind": "JobSet", "name": "sweep-1"},
        "reason": "JobCreationFailed",
        "message": message,
        "eventTime": "2026-11-21T21:54:02.5Z",
    }
    other = {**event, "involvedObject": {"kind": "JobSet", "name": "sweep-10"}}
    refused = (f"The API server refuses its Jobs: {reason}.",)
    assert pods.reasons(JobObjects((), [other, event], "sweep-1-")) == refused
    assert pods.reasons(JobObjects((), [other], "sweep-1-")) == ("It has no pods yet.",)
