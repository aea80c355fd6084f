"""`why` about a job whose pods are on nodes that are lost, leave or have broken devices."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tensorplane.agents.lost_nodes import cluster
from tensorplane.cli.commands.why import nodes
from tensorplane.cli.kueue.objects import JobObjects, details
from tensorplane.components.base.labels import FENCED
from tensorplane.core.kube import Kube
from tests.support.failed_jobs import NOW


def _pod(*, due: float | None, fenced: bool = False, phase: str = "Running") -> dict[str, Any]:
    about: dict[str, Any] = {"name": "digits-worker-0-1", "namespace": "ml"}
    if due is not None:
        about["deletionTimestamp"] = (NOW + timedelta(seconds=due)).strftime("%Y-%m-%dT%H:%M:%SZ")
    if fenced:
        about["annotations"] = {FENCED: "true"}
    return {"metadata": about, "spec": {"nodeName": "gpu-7"}, "status": {"phase": phase}}


@pytest.mark.parametrize("pod", [_pod(due=None), _pod(due=20), _pod(due=-10), _pod(due=-90, phase="Succeeded")])
def test_pods_that_run_or_end_in_time_need_no_line(pod: dict[str, Any]) -> None:
    assert list(nodes.lines(JobObjects([pod]), NOW)) == []


def test_a_pod_that_may_not_be_ended_by_force_is_named_with_the_command() -> None:
    (line,) = nodes.lines(JobObjects([_pod(due=-90)]), NOW)
    assert line.startswith("Node gpu-7 does not report the end of digits-worker-0-1, so no new pods start.")
    taint = "kubectl taint nodes gpu-7 node.kubernetes.io/out-of-service"
    assert line.endswith(f"once the machine is off: {taint}=nodeshutdown:NoExecute; once it is back: {taint}-")


def test_a_fenced_pod_is_the_agents_to_end() -> None:
    (line,) = nodes.lines(JobObjects([_pod(due=-90, fenced=True)]), NOW)
    assert line.endswith("; the agent nodes.lost ends them if the node is lost or not ready.")


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("NodeLost", "ended: node gpu-7 has sent no heartbeat for 41 s"),
        ("NodeLeaving", "evicted: node gpu-7 is a spot instance that EC2 reclaims in two minutes"),
        ("NodeDrained", "evicted: node gpu-7 is drained"),
        ("DeviceUnhealthy", "evicted: nvidia.com/gpu GPU-5 of node gpu-7 is unhealthy"),
    ],
)
def test_the_last_pod_that_the_agent_reports_is_told(reason: str, message: str) -> None:
    before = cluster.event(_pod(due=None), "NodeLost", "ended: node gpu-6", "2026-11-30T02:00:00Z")
    event = cluster.event(_pod(due=None), reason, message, "2026-11-30T03:33:09Z")

    def told(*events: dict[str, Any], job: str = "digits") -> list[str]:
        api = cast(Kube, SimpleNamespace(items=lambda path, **_: list(events) if path.endswith("/events") else []))
        found = details(api, {"metadata": {"name": job, "namespace": "ml"}}, None)
        return list(nodes.lines(found, NOW))

    assert told(event, before) == [f"digits-worker-0-1 was {message}."]
    assert told(event, job="digit") == told(event, job="digits-work") == [], "of another job"
    event["source"]["component"] = "karpenter"
    assert told(event) == [], "of another reporter"


def test_a_broken_device_of_a_running_pod_is_named() -> None:
    pod = _pod(due=None)
    resources = [{"resourceID": "GPU-5", "health": "Unhealthy"}, {"resourceID": "GPU-6", "health": "Healthy"}]
    allocated = [{"name": "nvidia.com/gpu", "resources": resources}]
    pod["status"]["containerStatuses"] = [{"name": "main", "allocatedResourcesStatus": allocated}]
    (line,) = nodes.lines(JobObjects([pod]), NOW)
    assert line.startswith("nvidia.com/gpu GPU-5 of node gpu-7, which digits-worker-0-1 has, is unhealthy; the agent ")
    assert list(nodes.lines(JobObjects([{**pod, "metadata": _pod(due=20)["metadata"]}]), NOW)) == [], "it moves already"
