"""`make status` from recorded answers of an API server: states, ages, volumes, queues, URLs."""

from __future__ import annotations

import datetime
import io
from typing import Any

import pytest
from rich.console import Console

from tensorplane.driver import status_tables
from tensorplane.driver.status_tables import ClusterObjects, Object, urls

NOW = datetime.datetime(2026, 11, 21, 12, 0, tzinfo=datetime.UTC)
MADE = "2026-11-21T11:00:00Z"


def _meta(name: str, namespace: str = "ml", **more: Any) -> Object:
    return {"name": name, "namespace": namespace, "creationTimestamp": MADE, **more}


def _pod(*states: dict[str, Any], phase: str = "Running", **meta: Any) -> Object:
    statuses = [{"ready": "running" in state, "restartCount": 2, "state": state} for state in states]
    return {
        "metadata": _meta("trainer-0", **meta),
        "spec": {"containers": [{}] * len(states)},
        "status": {"phase": phase, "containerStatuses": statuses},
    }


def _lines(facts: ClusterObjects, *, embedded: bool = True) -> list[list[str]]:
    drawn = io.StringIO()
    Console(width=160, file=drawn).print(status_tables.render(facts, NOW, embedded=embedded))
    return [line.split() for line in drawn.getvalue().splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("pod", "state"),
    [
        (_pod({"running": {}}), "Running"),
        (_pod({"waiting": {"reason": "ImagePullBackOff"}}, phase="Pending"), "ImagePullBackOff"),
        (_pod({"terminated": {"reason": "Error"}}, phase="Failed"), "Error"),
        (_pod({"terminated": {"reason": "Completed"}}, phase="Succeeded"), "Succeeded"),
        (_pod(phase="Pending"), "Pending"),
        (_pod({"running": {}}, deletionTimestamp=MADE), "Terminating"),
    ],
)
def test_a_pods_state_is_the_word_that_tells_most(pod: Object, state: str) -> None:
    assert status_tables.pod_state(pod) == state


ADMITTED = {"conditions": [{"type": "Admitted", "status": "True"}, {"type": "Finished", "status": "False"}]}
FACTS = ClusterObjects(
    nodes=[
        {
            "metadata": {"name": "gpu-1"},
            "spec": {"unschedulable": True},
            "status": {
                "allocatable": {"cpu": "8", "memory": "33554432Ki", "nvidia.com/gpu": "4"},
                "nodeInfo": {"kubeletVersion": "v1.36.3"},
                "conditions": [{"type": "Ready", "status": "False"}],
            },
        },
        {
            "metadata": {
                "name": "tpu-0",
                "labels": {"tensorplane.dev/accelerator": "tpu-v5e"},
                "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            "spec": {},
            "status": {
                "allocatable": {"cpu": "112", "memory": "192Gi", "google.com/tpu": "4"},
                "nodeInfo": {"kubeletVersion": "kwok"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        },
    ],
    pods=[_pod({"running": {}}, {"waiting": {"reason": "CrashLoopBackOff"}})],
    claims=[
        {
            "metadata": _meta("data"),
            "spec": {"volumeName": "pv-data"},
            "status": {"phase": "Bound", "capacity": {"storage": "5Gi"}},
        },
        {
            "metadata": _meta("going", deletionTimestamp=MADE),
            "spec": {"volumeName": "pv-going"},
            "status": {"phase": "Bound", "capacity": {"storage": "5Gi"}},
        },
    ],
    volumes=[
        {"metadata": {"name": name}, "spec": {"capacity": {"storage": "5Gi"}}, "status": {"phase": phase}}
        for name, phase in (("pv-data", "Bound"), ("pv-old", "Released"))
    ],
    services=[],
    policies=[{"metadata": _meta(name)} for name in ("digits-clients", "digits-peers")],
    queues=[
        {
            "metadata": _meta("research"),
            "spec": {"clusterQueue": "shared"},
            "status": {"pendingWorkloads": 3, "admittedWorkloads": 1},
        }
    ],
    workloads=[
        {"metadata": _meta("digits"), "spec": {"queueName": "research"}, "status": ADMITTED},
        {"metadata": _meta("later"), "spec": {"queueName": "research"}},
    ],
)


@pytest.mark.parametrize(
    "line",
    [
        ["gpu-1", "NotReady,", "cordoned", "v1.36.3", "8", "32.0", "GiB", "4"],
        ["tpu-0", "Ready,", "simulated", "kwok", "112", "192.0", "GiB", "4", "tpu-v5e"],
        ["ml", "trainer-0", "CrashLoopBackOff", "1/2", "4", "60", "min"],
        ["ml", "data", "Bound", "5Gi", "pv-data"],
        ["ml", "going", "Terminating", "5Gi", "pv-going"],
        ["Released", "5Gi", "pv-old"],
        ["ml", "research", "shared", "3", "1"],
        ["ml", "digits", "research", "Admitted", "60", "min"],
        ["ml", "later", "research", "Waiting", "60", "min"],
        ["ml", "2", "declared,", "not", "enforced"],
    ],
)
def test_the_tables_say_what_the_cluster_said(line: list[str]) -> None:
    assert line in _lines(FACTS)


def test_other_clusters_may_enforce_network_policies() -> None:
    assert ["Network", "policies"] not in _lines(FACTS, embedded=False)


def test_without_a_service_there_is_no_table_of_urls() -> None:
    assert ["URLs"] not in _lines(FACTS)


def _service(name: str, namespace: str = "ml", **spec: Any) -> Object:
    return {"metadata": _meta(name, namespace), "spec": {"clusterIP": "10.201.0.9", **spec}}


REST = {"name": "rest", "port": 8501}
NODES = [{"status": {"addresses": [{"type": "InternalIP", "address": "172.18.0.2"}]}}]


@pytest.mark.parametrize(
    ("service", "routed", "found"),
    [
        (
            _service("m", ports=[REST, {"name": "grpc", "port": 8500}]),
            True,
            ["http://10.201.0.9:8501", "10.201.0.9:8500"],
        ),
        (_service("m", ports=[REST]), False, []),
        (_service("m", ports=[REST | {"nodePort": 30001}]), False, ["http://172.18.0.2:30001"]),
        (_service("m", clusterIP="None", ports=[REST]), True, []),
        (_service("m", ports=[{"name": "dns", "port": 53, "protocol": "UDP"}]), True, []),
        (_service("webhook", "kueue-system", ports=[REST]), True, []),
        (_service("kubernetes", "default", ports=[{"name": "https", "port": 443}]), True, []),
        (
            _service("m", ports=[REST]) | {"status": {"loadBalancer": {"ingress": [{"hostname": "lb.example"}]}}},
            False,
            ["http://lb.example:8501"],
        ),
    ],
)
def test_a_url_is_shown_where_this_machine_can_reach_it(service: Object, routed: bool, found: list[str]) -> None:
    assert [row[-1] for row in urls([service], NODES, routed=routed)] == found
