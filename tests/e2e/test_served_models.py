"""A server of two models: a changed policy and moved labels reach it without a new pod and without a failed request."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tensorplane.cli.access import Access
from tensorplane.cli.commands.models import command as models
from tensorplane.cli.commands.predict import command as predict
from tensorplane.cli.serving import server as model_servers
from tensorplane.core.errors import UserError
from tests.e2e import half_models, stacks
from tests.e2e.conftest import Deployed
from tests.e2e.stacks import OwnStack
from tests.support.serving_clients import Clients
from tests.support.waiting import PATIENT_SECONDS, eventually

pytestmark = pytest.mark.nightly("two updates; tests/serving has the server's part")

_NAME = "serving"
_NAMESPACE = f"tensorplane-{_NAME}"
_PODS = f"/api/v1/namespaces/{_NAMESPACE}/pods"
_HALF = {"volume": "models", "path": "half", "versions": {"latest": 2}, "labels": {"stable": 2}}
_OTHER = {"volume": "models", "path": "other"}


_MODELS = {("half", 1): 1, ("half", 2): 2, ("half", 3): 3, ("other", 1): 7}
"""The number of each version."""


def _up(stack: OwnStack, half: dict[str, Any]) -> None:
    """Deploys the server with these settings of its first model."""
    server = {
        "kind": "modelServer",
        "models": {"half": half, "other": _OTHER},
        "batching": {"maxBatchSize": 8},
        "resources": {"cpus": 0.2, "memoryGib": 1},
    }
    stack.up(
        volumes={"models": {"sizeGib": 1, "retain": False, "accessModes": ["ReadWriteMany"]}},
        workloads={"server": server},
    )


def _pod(stack: OwnStack) -> dict[str, Any]:
    (found,) = stack.kube.items(_PODS, labelSelector="app.kubernetes.io/name=server")
    return found


@pytest.fixture
def stack(deployed: Deployed, tmp_path: Path) -> Iterator[OwnStack]:
    with stacks.own(deployed, tmp_path, _NAME) as made:
        _up(made, _HALF)
        for (name, version), number in _MODELS.items():
            half_models.publish(half_models.half(number), made.volume() / name, version)
        yield made


def _answer(url: str) -> float | int:
    """What a model answers to 1, or the status of its refusal."""
    request = urllib.request.Request(f"{url}:predict", json.dumps({"instances": [1.0]}).encode())
    try:
        with urllib.request.urlopen(request, timeout=PATIENT_SECONDS) as answer:
            return float(json.load(answer)["predictions"][0])
    except urllib.error.HTTPError as error:
        return error.code


def test_versions_and_labels_change_under_requests_without_a_new_pod(
    stack: OwnStack, capsys: pytest.CaptureFixture[str]
) -> None:
    urls = stack.workloads()["server"]["models"]
    eventually(lambda: _is_ready(_pod(stack)))
    assert eventually(lambda: _answer(urls["other"]) == 7.5)
    # All versions of a folder are seen at the server's next look at it.
    assert eventually(lambda: _answer(urls["half"]) == 3.5)
    assert eventually(lambda: _answer(f"{urls['half']}/versions/1") == 404)
    assert _answer(f"{urls['half']}/labels/stable") == 2.5
    before = _pod(stack)["metadata"]["uid"]
    with Clients(urls["half"], {"instances": [1.0]}) as clients:
        assert eventually(lambda: clients.values_since(0)) == {"3.5"}
        _up(stack, {**_HALF, "versions": {"specific": [1, 2]}, "labels": {"stable": 1}})
        eventually(lambda: _answer(f"{urls['half']}/labels/stable") == 1.5)
        eventually(lambda: clients.values_since(time.monotonic() - 1) == {"2.5"})
    assert not clients.failed
    assert clients.values_since(0) == {"3.5", "2.5"}
    assert _pod(stack)["metadata"]["uid"] == before
    access = Access(stack.kube, _NAMESPACE, stack="serving")
    predict.run(access, predict.PredictOptions("server/half", label="stable"), {"instances": [1.0]})
    assert json.loads(capsys.readouterr().out) == {"predictions": [1.5]}
    with pytest.raises(UserError, match=r"^--version: server/half does not serve version 3; choose one of 2, 1$"):
        predict.run(access, predict.PredictOptions("server/half", version=3), {"instances": [1.0]})
    half, other = models.ask(model_servers.chosen(access, "server"))
    assert (half.versions, half.labels, half.ready) == ({2: "AVAILABLE", 1: "AVAILABLE"}, {"stable": 1}, 1)
    assert half.traffic and half.traffic.p50_ms and other.model == "other"
    metrics = urls["half"].partition("/v1/")[0] + "/monitoring/prometheus/metrics"
    with urllib.request.urlopen(metrics, timeout=PATIENT_SECONDS) as answer:
        assert 'request_count{model_name="half",status="OK"}' in answer.read().decode()


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
