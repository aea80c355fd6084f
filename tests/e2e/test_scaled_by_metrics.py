"""KEDA scales: under load a server gets further pods, as Prometheus counts its requests; one without pods gets its
first when a client asks it; and a scorer has as many as its lag requires, none without records."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tensorplane.components import versions
from tensorplane.core.kube import Kube
from tests.e2e import scaled_servers, stacks
from tests.e2e.conftest import Deployed
from tests.support import controllers
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("the programs take minutes to build")

_NAME = "metered"
_NAMESPACE = f"tensorplane-{_NAME}"
# It has the only metric of requests that exists while the server has no pods.
_CLIENT = """
import http.server, json, sys, threading, time, urllib.request

asked = 0

class Metrics(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(f"# TYPE asked_total counter\\nasked_total {asked}\\n".encode())

    def log_message(self, *_):
        pass

threading.Thread(target=http.server.HTTPServer(("", 8000), Metrics).serve_forever, daemon=True).start()
answered = False
while True:
    asked += 1
    try:
        request = urllib.request.Request(sys.argv[1] + ":predict", json.dumps({"instances": [3.0]}).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            if not answered:
                print(answer.read().decode(), flush=True)
            answered = True
    except OSError:
        pass
    time.sleep(0.2)
"""


@contextlib.contextmanager
def _pod(kube: Kube, name: str, *command: str) -> Iterator[str]:
    """A pod outside of the stack, whose metrics Prometheus finds; the path of its log."""
    container = {
        "name": name,
        "image": versions.EMBEDDED_IMAGES.python,
        "imagePullPolicy": "Never",
        "command": ["python3", "-c", *command],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    annotations = {"prometheus.io/scrape": "true", "prometheus.io/port": "8000"}
    labels = {"streams.tensorplane/events": "client"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": _NAMESPACE, "annotations": annotations, "labels": labels},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "restartPolicy": "OnFailure",
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [container],
        },
    }
    path = f"/api/v1/namespaces/{_NAMESPACE}/pods/{name}"
    kube.apply(path, pod, "tests")
    try:
        yield f"{path}/log"
    finally:
        kube.delete(path)


_SCALINGS: dict[str, dict[str, Any]] = {
    "busy": {"min": 1, "max": 3, "requestsPerSecond": 2},
    "idle": {
        "min": 0,
        "max": 1,
        "requestsPerSecond": 100,
        "requestsQuery": "sum(rate(asked_total[1m]))",
        "scaleDownSeconds": 5,
    },
}
_STREAM: dict[str, Any] = {
    "volume": "records",
    "topics": {"numbers": {"partitions": 2}, "scores": {"partitions": 2, "compacted": True}},
    "groups": {"scorer": {"topics": ["numbers"]}},
    "producers": {"source": {"topics": ["numbers"]}, "results": {"topics": ["scores"]}},
}
_SCORER: dict[str, Any] = {
    "kind": "scorer",
    "server": "idle",
    "input": {"stream": "events", "topic": "numbers", "group": "scorer"},
    "output": {"stream": "events", "topic": "scores", "producer": "results"},
    "scaling": {"min": 0, "max": 2, "lag": 10, "scaleDownSeconds": 5},
    "resources": {"cpus": 0.1, "memoryGib": 0.25},
}
# A client of the stream that the stack does not know: a job would take another update of the stack.
_WRITER = f"""
import sys
from confluent_kafka import Producer

producer = Producer({{"bootstrap.servers": "events-kafka.{_NAMESPACE}.svc:9092"}})
for number in range(60):
    producer.produce("numbers", str(number).encode(), partition=number % 2)
# A pod that could not write them all is started again.
sys.exit(producer.flush(500))
"""
_MORE: dict[str, dict[str, Any]] = {
    "volumes": {"records": {"sizeGib": 1, "retain": False}},
    "streams": {"events": _STREAM},
    "workloads": {"scorer": _SCORER},
}


def test_requests_and_records_start_pods_also_the_first_one(deployed: Deployed, tmp_path: Path) -> None:
    controllers.provide(deployed.instance, "keda", "prometheus", streams=True)
    kube = deployed.kube

    def replicas(name: str, wanted: int) -> None:
        path = f"/apis/apps/v1/namespaces/{_NAMESPACE}/deployments/{name}"
        assert eventually(
            lambda: (kube.get(path) or {}).get("spec", {}).get("replicas") == wanted, about=lambda: _found(kube, name)
        )

    with stacks.own(deployed, tmp_path, _NAME) as made:
        scaled_servers.deploy(made, _SCALINGS, _MORE)
        scaled_servers.publish(made)
        replicas("idle", 0)
        replicas("scorer", 0)
        with scaled_servers.load(made.url("busy")):
            # Nobody answers the scorer yet, so that its lag stays.
            with _pod(kube, "writer", _WRITER):
                replicas("scorer", 2)
            with _pod(kube, "client", _CLIENT, made.url("idle")) as log:
                replicas("idle", 1)
                replicas("busy", 3)
                assert eventually(lambda: (kube.get(log.removesuffix("/log")) or {})["status"]["phase"] == "Running")
                assert "1.5" in eventually(lambda: kube.text(log))
                replicas("scorer", 0)


def _found(kube: Kube, name: str) -> object:
    """What KEDA and the autoscaler know."""
    of = f"namespaces/{_NAMESPACE}"
    scaled = kube.get(f"/apis/keda.sh/v1alpha1/{of}/scaledobjects/{name}") or {}
    autoscaler = kube.get(f"/apis/autoscaling/v2/{of}/horizontalpodautoscalers/keda-hpa-{name}") or {}
    return scaled.get("status"), autoscaler.get("status")
