"""A model that pods fetch from a server in the cluster: another archive replaces it, a wrong one does not."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from components import versions
from driver import linked_project
from driver.deploy import Stack
from embedded.step import Step
from tests.e2e.conftest import Deployed
from tests.serving.server import HalfPlus
from tests.support.waiting import eventually

_NAMESPACE, _FILES = "tensorplane-fetched", "model-files"
_PODS = f"/api/v1/namespaces/{_NAMESPACE}/pods"
_OF_FILES = f"/api/v1/namespaces/default/{{}}/{_FILES}"
_PORT = 8000


@dataclass(frozen=True)
class Archive:
    """A packed SavedModel: x / 2 + n."""

    content: bytes

    @classmethod
    def of(cls, n: float, folder: Path) -> Archive:
        (folder / str(n)).mkdir()
        HalfPlus(n).save(folder / str(n) / "1")
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            archive.add(folder / str(n) / "1", "half")
        return cls(buffer.getvalue())

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@pytest.fixture
def archives(deployed: Deployed, tmp_path: Path) -> Iterator[dict[str, Archive]]:
    """Two of them, which a pod serves by HTTP."""
    found = {f"half-{n}.tar.gz": Archive.of(float(n), tmp_path) for n in (1, 2)}
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
        yield found
    finally:
        for plural in things:
            deployed.kube.delete(_OF_FILES.format(plural))


@dataclass
class Serving:
    """The deployed stack."""

    deployed: Deployed
    stack: Stack
    folder: Path

    def up(self, file: str, digest: str) -> str:
        """Deploy the server with this archive. Returns the model's URL."""
        uri = f"http://{_FILES}.default.svc:{_PORT}/{file}"
        settings = {
            "namespace": _NAMESPACE,
            "controllers": {"kueue": "present", "jobset": "present"},
            "workloads": {
                "server": {
                    "kind": "modelServer",
                    "models": {"half": {"uri": uri, "fetch": {"sha256": digest}}},
                    "resources": {"cpus": 0.1, "memoryGib": 1},
                }
            },
        }
        text = json.dumps({"config": {f"tensorplane:{key}": value for key, value in settings.items()}})
        made = linked_project.with_settings(self.stack, self.folder, text)
        made.prepare(Step("prepare"))
        made.up(Step("pulumi up"))
        url: str = made.outputs()["workloads"]["server"]["models"]["half"]
        return url

    def last_words(self) -> list[str]:
        """What init containers of the pods that failed have said."""
        pods = self.deployed.kube.items(_PODS, labelSelector="app.kubernetes.io/name=server")
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
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name="fetched"))
    (tmp_path / "stack").mkdir()
    try:
        yield Serving(deployed, named, tmp_path / "stack")
    finally:
        named.destroy(Step("destroy"))


def _answer(url: str) -> float | None:
    """What the model answers to 2; None if it does not."""
    request = urllib.request.Request(f"{url}:predict", json.dumps({"instances": [2.0]}).encode())
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return float(json.load(answer)["predictions"][0])
    except OSError:
        return None


def test_pods_serve_what_they_have_fetched_and_only_that(serving: Serving, archives: dict[str, Archive]) -> None:
    url = serving.up("half-1.tar.gz", archives["half-1.tar.gz"].digest)
    assert eventually(lambda: _answer(url), about=serving.last_words) == 2.0
    serving.up("half-2.tar.gz", archives["half-1.tar.gz"].digest)
    words = eventually(serving.last_words)
    assert f"half-2.tar.gz: has the SHA-256 {archives['half-2.tar.gz'].digest}" in words[0]
    assert _answer(url) == 2.0, "the old pod goes on"
    serving.up("half-2.tar.gz", archives["half-2.tar.gz"].digest)
    eventually(lambda: _answer(url) == 3.0, about=serving.last_words)
