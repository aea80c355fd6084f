"""A model that pods fetch from a server in the cluster: another archive replaces it, a wrong one does not."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tensorplane.cli.kueue.objects import condition
from tensorplane.components import versions
from tests.e2e import half_models, stacks
from tests.e2e.conftest import Deployed
from tests.e2e.stacks import OwnStack
from tests.support.waiting import PATIENT_SECONDS, eventually

pytestmark = pytest.mark.nightly(
    "3 ups; told by runtime/test_fetch_model.py and workloads/checks/test_fetched_model.py"
)

_FILES = "model-files"
_OF_FILES = f"/api/v1/namespaces/default/{{}}/{_FILES}"
_PORT = 8000


@dataclass(frozen=True)
class Archive:
    """A packed model."""

    content: bytes

    @classmethod
    def of(cls, name: str, folder: Path) -> Archive:
        half_models.publish(name, folder / name, 1)
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            archive.add(folder / name / "1", "half")
        return cls(buffer.getvalue())

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@pytest.fixture
def archives(deployed: Deployed, tmp_path: Path) -> Iterator[dict[str, Archive]]:
    """Two of them, which a pod serves by HTTP."""
    found = {f"half-{n}.tar.gz": Archive.of(half_models.half(n), tmp_path) for n in (1, 2)}
    names = {"name": _FILES, "labels": {"app": _FILES}}
    server = {
        "name": "main",
        "image": versions.EMBEDDED_IMAGES.python,
        "command": ["python3", "-m", "http.server", "--directory", "/files", str(_PORT)],
        "readinessProbe": {"tcpSocket": {"port": _PORT}, "periodSeconds": 1},
        "volumeMounts": [{"name": "files", "mountPath": "/files"}],
    }
    things: dict[str, dict[str, Any]] = {
        "configmaps": {
            "kind": "ConfigMap",
            "binaryData": {name: base64.b64encode(one.content).decode() for name, one in found.items()},
        },
        "pods": {
            "kind": "Pod",
            "spec": {
                "containers": [server],
                "terminationGracePeriodSeconds": 0,
                "volumes": [{"name": "files", "configMap": {"name": _FILES}}],
            },
        },
        "services": {"kind": "Service", "spec": {"selector": {"app": _FILES}, "ports": [{"port": _PORT}]}},
    }
    try:
        for plural, thing in things.items():
            deployed.kube.apply(_OF_FILES.format(plural), {"apiVersion": "v1", "metadata": names, **thing}, "tests")
        pod = _OF_FILES.format("pods")
        eventually(lambda: condition(deployed.kube.get(pod) or {}, "Ready").holds)
        yield found
    finally:
        for plural in things:
            deployed.kube.delete(_OF_FILES.format(plural))


@dataclass
class Serving:
    """A stack with a server of a model that its pods fetch."""

    stack: OwnStack

    def up(self, file: str, digest: str) -> str:
        """Deploy the server with this archive. Returns the model's URL."""
        half = {"uri": f"http://{_FILES}.default.svc:{_PORT}/{file}", "fetch": {"sha256": digest}}
        server = {"kind": "modelServer", "models": {"half": half}, "resources": {"cpus": 0.1, "memoryGib": 1}}
        self.stack.up(workloads={"server": server})
        return self.stack.url("server")

    def last_words(self) -> list[str]:
        """What init containers of the pods that failed have said."""
        pods = self.stack.kube.items(
            f"/api/v1/namespaces/{self.stack.namespace}/pods", labelSelector="app.kubernetes.io/name=server"
        )
        ended = [
            state["terminated"]
            for pod in pods
            for each in pod["status"].get("initContainerStatuses", ())
            for state in (each.get("state", {}), each.get("lastState", {}))
            if state.get("terminated")
        ]
        return [each.get("message", "") for each in ended if each["exitCode"]]


@pytest.fixture
def serving(deployed: Deployed, tmp_path: Path) -> Iterator[Serving]:
    (tmp_path / "stack").mkdir()
    with stacks.own(deployed, tmp_path / "stack", "fetched") as made:
        yield Serving(made)


def _answer(url: str) -> float | None:
    """What the model answers to 2; None if it does not."""
    request = urllib.request.Request(f"{url}:predict", json.dumps({"instances": [2.0]}).encode())
    try:
        with urllib.request.urlopen(request, timeout=PATIENT_SECONDS) as answer:
            return float(json.load(answer)["predictions"][0])
    except OSError:
        return None


def test_pods_serve_what_they_have_fetched_and_only_that(serving: Serving, archives: dict[str, Archive]) -> None:
    url = serving.up("half-1.tar.gz", archives["half-1.tar.gz"].digest)
    assert eventually(lambda: _answer(url), about=serving.last_words) == 2.0
    serving.up("half-2.tar.gz", archives["half-1.tar.gz"].digest)
    wrong = f"half-2.tar.gz: has the SHA-256 {archives['half-2.tar.gz'].digest}"
    eventually(lambda: any(wrong in words for words in serving.last_words()), about=serving.last_words)
    assert _answer(url) == 2.0, "the old pod goes on"
    serving.up("half-2.tar.gz", archives["half-2.tar.gz"].digest)
    eventually(lambda: _answer(url) == 3.0, about=serving.last_words)
