"""A server of two models: a changed policy and moved labels reach it without a new pod and without a failed request."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cli.access import Access
from cli.commands.models import listed as models
from cli.commands.predict import query as predict
from cli.serving import server as model_servers
from driver import linked_project
from driver.deploy import Stack
from embedded.fault import Fault
from embedded.step import Step
from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import SMALL, Running
from tests.support.waiting import PATIENT_SECONDS, eventually

_NAMESPACE = "tensorplane-serving"
_PODS = f"/api/v1/namespaces/{_NAMESPACE}/pods"
_PROGRAM = """
import os, tensorflow as tf

class Half(tf.Module):
    def __init__(self, n):
        self.n = tf.Variable(float(n))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def call(self, x):
        return {"y": x / 2 + self.n}

for name, number in (("half", 1), ("half", 2), ("half", 3), ("other", 7)):
    model, draft = Half(number), f"/models/.draft-{name}-{number}"
    tf.saved_model.save(model, draft, {"serving_default": model.call})
    os.makedirs(f"/models/{name}", exist_ok=True)
    os.rename(draft, f"/models/{name}/{number}")
"""
_MAKER = {
    "kind": "trainingJob",
    "strategy": {"kind": "single"},
    "command": ["python3", "-c", _PROGRAM],
    "env": {"TF_CPP_MIN_LOG_LEVEL": "2"},
    "resources": SMALL,
    "volumes": {"models": "/models"},
}
_HALF = {"volume": "models", "path": "half", "versions": {"latest": 2}, "labels": {"stable": 2}}
_OTHER = {"volume": "models", "path": "other"}


@dataclass(frozen=True)
class Serving:
    """The deployed stack."""

    deployed: Deployed
    stack: Stack
    folder: Path

    def up(self, half: dict[str, Any]) -> Stack:
        """Deploy the server with these settings of its first model."""
        server = {
            "kind": "modelServer",
            "models": {"half": half, "other": _OTHER},
            "batching": {"maxBatchSize": 8},
            "resources": {"cpus": 0.2, "memoryGib": 1},
        }
        settings = {
            "namespace": _NAMESPACE,
            "controllers": {"kueue": "present", "jobset": "present"},
            "volumes": {"models": {"sizeGib": 1, "retain": False, "accessModes": ["ReadWriteMany"]}},
            "workloads": {"maker": _MAKER, "server": server},
        }
        text = json.dumps({"config": {f"tensorplane:{key}": value for key, value in settings.items()}})
        made = linked_project.with_settings(self.stack, self.folder, text)
        made.prepare(Step("prepare"))
        made.up(Step("pulumi up"))
        return made

    def pod(self) -> dict[str, Any]:
        (found,) = self.deployed.kube.items(_PODS, labelSelector="app.kubernetes.io/name=server")
        return found


@pytest.fixture
def serving(deployed: Deployed, tmp_path: Path) -> Iterator[Serving]:
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name="serving"))
    made = Serving(deployed, named, tmp_path)
    try:
        yield made
    finally:
        named.destroy(Step("destroy"))


def _answer(url: str) -> float | int:
    """What a model answers to 1, or the status of its refusal."""
    request = urllib.request.Request(f"{url}:predict", json.dumps({"instances": [1.0]}).encode())
    try:
        with urllib.request.urlopen(request, timeout=PATIENT_SECONDS) as answer:
            return float(json.load(answer)["predictions"][0])
    except urllib.error.HTTPError as error:
        return error.code


def test_versions_and_labels_change_under_requests_without_a_new_pod(
    serving: Serving, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = (made := serving.up(_HALF)).outputs()
    urls = outputs["workloads"]["server"]["models"]
    assert Running(serving.deployed.kube, made).ended("maker").succeeded
    eventually(lambda: _is_ready(serving.pod()))
    assert eventually(lambda: _answer(urls["other"]) == 7.5)
    assert [_answer(urls["half"]), _answer(f"{urls['half']}/labels/stable")] == [3.5, 2.5]
    assert _answer(f"{urls['half']}/versions/1") == 404
    before = serving.pod()["metadata"]["uid"]

    def pinned() -> None:
        serving.up({**_HALF, "versions": {"specific": [1, 2]}, "labels": {"stable": 1}})
        eventually(lambda: _answer(f"{urls['half']}/labels/stable") == 1.5)
        eventually(lambda: _answer(urls["half"]) == 2.5)

    answers = _asked_while(lambda: _answer(urls["half"]), pinned)
    assert set(answers) == {3.5, 2.5}
    assert serving.pod()["metadata"]["uid"] == before
    access = Access(serving.deployed.kube, _NAMESPACE, stack="serving")
    predict.run(access, predict.Asked("server/half", label="stable"), {"instances": [1.0]})
    assert json.loads(capsys.readouterr().out) == {"predictions": [1.5]}
    with pytest.raises(Fault, match=r"^--version: server/half does not serve version 3; choose one of 2, 1$"):
        predict.run(access, predict.Asked("server/half", version=3), {"instances": [1.0]})
    half, other = models.ask(model_servers.chosen(access, "server"))
    assert (half.versions, half.labels, half.ready) == ({2: "AVAILABLE", 1: "AVAILABLE"}, {"stable": 1}, 1)
    assert half.traffic and half.traffic.p50_ms and other.model == "other"
    metrics = urls["half"].partition("/v1/")[0] + "/monitoring/prometheus/metrics"
    with urllib.request.urlopen(metrics, timeout=PATIENT_SECONDS) as answer:
        assert 'request_count{model_name="half",status="OK"}' in answer.read().decode()


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _asked_while(ask: Callable[[], float | int], change: Callable[[], None]) -> list[float | int]:
    """Answers to requests before, during and after a change."""
    answers, over = [ask()], threading.Event()

    def keep_asking() -> None:
        while not over.is_set():
            answers.append(ask())

    asking = threading.Thread(target=keep_asking)
    asking.start()
    try:
        change()
    finally:
        over.set()
        asking.join()
    return answers
