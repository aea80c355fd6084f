"""A server under load gets another pod, which an update of the stack leaves to it."""

from __future__ import annotations

import contextlib
import json
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from driver import linked_project
from driver.deploy import Stack
from embedded import cluster, images, toolchain
from embedded.step import Step
from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import SMALL, Running
from tests.support.waiting import eventually

_NAMESPACE = "tensorplane-scaled"
_DEPLOYMENT = f"/apis/apps/v1/namespaces/{_NAMESPACE}/deployments/server"
_PROGRAM = """
import os, tensorflow as tf

class Half(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def call(self, x):
        return {"y": x / 2}

model = Half()
tf.saved_model.save(model, "/models/.draft", {"serving_default": model.call})
os.makedirs("/models/half", exist_ok=True)
os.rename("/models/.draft", "/models/half/1")
"""
_MAKER = {
    "kind": "trainingJob",
    "strategy": {"kind": "single"},
    "command": ["python3", "-c", _PROGRAM],
    "env": {"TF_CPP_MIN_LOG_LEVEL": "2"},
    "resources": SMALL,
    "volumes": {"models": "/models"},
}


@pytest.fixture
def metrics_server(deployed: Deployed) -> None:
    """The program, its chart and its image, which `make up` gets for stacks that scale."""
    tools = toolchain.tasks(cluster=True, pulumi=False, metrics_server=True)
    for task in (*tools, *images.tasks(metrics_server=True)):
        if task.name in ("metrics-server", "image metrics-server"):
            task.run(Step(task.name))
    cluster.start(deployed.instance, Step("cluster"), storage=True)
    cluster.load_images(deployed.instance, Step("load images"), metrics_server=True)


def _deploy(stack: Stack, folder: Path, most: int) -> Stack:
    server = {
        "kind": "modelServer",
        "model": {"volume": "models", "path": "half"},
        "resources": {"cpus": 0.1, "memoryGib": 1},
        "scaling": {"min": 1, "max": most, "cpu": 80},
    }
    settings = {
        "namespace": _NAMESPACE,
        "controllers": {"kueue": "present", "jobset": "present"},
        "volumes": {"models": {"sizeGib": 1, "retain": False, "accessModes": ["ReadWriteMany"]}},
        "workloads": {"maker": _MAKER, "server": server},
    }
    text = json.dumps({"config": {f"tensorplane:{key}": value for key, value in settings.items()}})
    made = linked_project.with_settings(stack, folder, text)
    made.prepare(Step("prepare"))
    made.up(Step("pulumi up"))
    return made


@contextlib.contextmanager
def _asked(url: str) -> Iterator[None]:
    """Two clients ask without pause."""
    ended = threading.Event()
    request = urllib.request.Request(f"{url}:predict", json.dumps({"instances": [1.0]}).encode())

    def ask() -> None:
        while not ended.is_set():
            with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=10) as answer:
                answer.read()

    clients = [threading.Thread(target=ask) for _ in range(2)]
    for client in clients:
        client.start()
    try:
        yield
    finally:
        ended.set()
        for client in clients:
            client.join()


def test_load_starts_a_pod_that_an_update_keeps(metrics_server: None, deployed: Deployed, tmp_path: Path) -> None:
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name="scaled"))
    try:
        made = _deploy(named, tmp_path, 2)
        assert Running(deployed.kube, made).ended("maker").succeeded
        kube, url = deployed.kube, made.outputs()["workloads"]["server"]["models"]["half"]

        def server() -> dict[str, Any]:
            return dict(kube.get(_DEPLOYMENT) or {})

        assert eventually(lambda: server()["status"].get("readyReplicas") == 1)
        with _asked(url):
            assert eventually(lambda: server()["spec"]["replicas"] == 2, 240)
            _deploy(named, tmp_path, 3)
            assert server()["spec"]["replicas"] >= 2
    finally:
        named.destroy(Step("destroy"))
