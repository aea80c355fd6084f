"""A server behind a Gateway with TLS: a canary gets its percent of the requests that come through it, its gate promotes
it, another one is rolled back, and no request fails."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from driver import linked_project
from driver.deploy import Stack
from driver.kube import Kube
from embedded.cluster import processes
from embedded.cluster.places import Places
from embedded.step import Step
from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import SMALL, Running
from tests.support import controllers
from tests.support.serving_clients import Answer, Clients
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly  # the programs take minutes to build

_NAMESPACE = "tensorplane-gateway"
_INSIDE = f"/api/v1/namespaces/{_NAMESPACE}"
_ROUTES = f"/apis/gateway.networking.k8s.io/v1/namespaces/{_NAMESPACE}"
_REST, _GRPC = "half.example.org", "grpc.half.example.org"
_PERCENT, _REQUESTS, _COUNTED = 10, 60, 50
_PROGRAM = """
import os, tensorflow as tf

class Half(tf.Module):
    def __init__(self, n):
        self.n = tf.Variable(float(n))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def call(self, x):
        return {"y": x / 2 + self.n}

os.makedirs("/models/drafts")
for n in (2, 3):
    model = Half(n)
    tf.saved_model.save(model, f"/models/drafts/{n}", {"serving_default": model.call})
model = Half(1)
tf.saved_model.save(model, "/models/half/1", {"serving_default": model.call})
"""
_ASKED = {"instances": [2.0]}
_VALUES = {1: 2.0, 2: 3.0, 3: 4.0}
"""What each version answers."""


@dataclass
class Gateway:
    """The deployed stack, and the way through its Gateway."""

    kube: Kube
    stack: Stack
    volume: Path
    """The folder of the volume with the models."""
    address: str
    certificate: Path

    def publish(self, version: int) -> None:
        copy = self.volume / f".draft-{version}"
        subprocess.run(["cp", "-r", self.volume / "drafts" / str(version), copy], check=True)
        copy.rename(self.volume / "half" / str(version))

    @property
    def kept(self) -> dict[str, Any]:
        found = self.kube.get(f"{_INSIDE}/configmaps/half-rollout") or {}
        state: dict[str, Any] = json.loads((found.get("data") or {}).get("rollout.json") or "{}")
        return state

    def decided(self, action: str, version: int) -> None:
        def look() -> bool:
            return (action, version) in [(one["action"], one["version"]) for one in self.kept.get("decisions", [])]

        eventually(look, about=lambda: self.kept)

    @property
    def weights(self) -> list[int]:
        """The canary's, of both routes; none while a route does not divide its requests."""
        routes = [self.kube.get(f"{_ROUTES}/{kind}/half") or {} for kind in ("httproutes", "grpcroutes")]
        backends = [one for route in routes for one in route["spec"]["rules"][0]["backendRefs"]]
        return [one["weight"] for one in backends if one["name"] == "half-canary"]

    def at_rest(self, version: int) -> bool:
        pods = self.kube.items(f"{_INSIDE}/pods", labelSelector="tensorplane.dev/track=canary")
        kept = self.kept
        return kept["stable"] == version and kept["candidate"] is None and self.weights == [0, 0] and not pods

    def send(self) -> Callable[..., Any]:
        """Sends requests to the Gateway's address, whatever their host."""
        address, context = self.address, ssl.create_default_context(cafile=str(self.certificate))

        class Connection(http.client.HTTPSConnection):
            def connect(self) -> None:
                raw = socket.create_connection((address, 443), self.timeout)
                self.sock = context.wrap_socket(raw, server_hostname=self.host)

        class Handler(urllib.request.HTTPSHandler):
            def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
                return self.do_open(Connection, request)

        return urllib.request.build_opener(Handler()).open

    def clients(self) -> Clients:
        return Clients(f"https://{_REST}/v1/models/half", _ASKED, rate=60, send=self.send())

    def has_no_changes(self) -> None:
        self.stack._run(["preview", "--expect-no-changes"], Step("preview"))


def _up(named: Stack, folder: Path) -> Stack:
    gate = {"metric": "errorRate", "threshold": 0.05, "minRequests": _REQUESTS}
    server = {
        "kind": "modelServer",
        "replicas": 2,
        "resources": {"cpus": 0.15, "memoryGib": 1},
        "model": {"volume": "models", "path": "half", "canary": {"percent": _PERCENT, "gate": gate}},
        "expose": {
            "kind": "gateway",
            "name": "public",
            "create": {"gatewayClass": "traefik", "certificate": "half-tls"},
            "hosts": [_REST],
            "grpcHosts": [_GRPC],
        },
    }
    maker = {
        "kind": "trainingJob",
        "strategy": {"kind": "single"},
        "command": ["python3", "-c", _PROGRAM],
        "env": {"TF_CPP_MIN_LOG_LEVEL": "2"},
        "resources": SMALL,
        "volumes": {"models": "/models"},
    }
    settings = {
        "namespace": _NAMESPACE,
        "controllers": {"kueue": "present", "jobset": "present"},
        "volumes": {"models": {"sizeGib": 1, "retain": False, "accessModes": ["ReadWriteMany"]}},
        "workloads": {"maker": maker, "half": server},
    }
    text = json.dumps({"config": {f"tensorplane:{key}": value for key, value in settings.items()}})
    made = linked_project.with_settings(named, folder, text)
    made.prepare(Step("prepare"))
    made.up(Step("pulumi up"))
    return made


def _certify(kube: Kube, folder: Path) -> Path:
    """A certificate of the hosts, as the Secret that the Gateway names."""
    key, certificate = folder / "tls.key", folder / "tls.crt"
    names = f"subjectAltName=DNS:{_REST},DNS:{_GRPC}"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", "-x509", *curve, "-subj", "/CN=half", "-addext", names, *files], check=True)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "half-tls", "namespace": _NAMESPACE},
        "type": "kubernetes.io/tls",
        "data": {path.name: base64.b64encode(path.read_bytes()).decode() for path in (key, certificate)},
    }
    kube.apply(f"{_INSIDE}/secrets/half-tls", secret, "tests")
    return certificate


@pytest.fixture(scope="module")
def gateway(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name="gateway"))
    kube = deployed.kube
    controllers.provide(deployed.instance, "traefik")
    try:
        stack = _up(named, tmp_path_factory.mktemp("stack"))
        certificate = _certify(kube, tmp_path_factory.mktemp("certificate"))
        assert Running(kube, stack).ended("maker").succeeded
        claim = kube.get(f"{_INSIDE}/persistentvolumeclaims/models") or {}
        handle = (kube.get(f"/api/v1/persistentvolumes/{claim['spec']['volumeName']}") or {})["spec"]["csi"]
        alive = processes.find(deployed.instance)
        assert alive
        volume = alive.path(Places(deployed.instance).pool) / "volumes" / handle["volumeHandle"]
        service = kube.get("/api/v1/namespaces/traefik/services/traefik") or {}
        made = Gateway(kube, stack, volume, service["spec"]["clusterIP"], certificate)
        eventually(lambda: made.kept.get("stable") == 1 and made.weights == [0, 0], about=lambda: made.kept)
        eventually(lambda: _answers(made))
        yield made
    finally:
        named.destroy(Step("destroy"))


def _answers(gateway: Gateway) -> bool:
    """Whether requests get through: the Gateway has read its certificate and its routes."""
    request = urllib.request.Request(f"https://{_REST}/v1/models/half:predict", json.dumps(_ASKED).encode())
    with contextlib.suppress(OSError), gateway.send()(request, timeout=10) as answer:
        return bool(json.load(answer)["predictions"] == [_VALUES[1]])
    return False


def test_a_canary_gets_its_percent_until_its_gate_decides_and_no_request_fails(gateway: Gateway) -> None:
    assert gateway.stack.outputs()["workloads"]["half"]["outside"] == {"rest": [_REST], "grpc": [_GRPC]}
    gateway.publish(2)
    gateway.decided("CanaryStarted", 2)
    eventually(lambda: gateway.weights == [_PERCENT, _PERCENT], about=lambda: gateway.kept)
    gateway.has_no_changes()
    with gateway.clients() as clients:
        gateway.decided("Promoted", 2)
        eventually(lambda: gateway.at_rest(2), about=lambda: gateway.kept)
        _answered(clients, 2)
        assert _share(clients.answers, 2) == pytest.approx(_PERCENT / 100, abs=0.02)
        gateway.publish(3)
        gateway.decided("CanaryStarted", 3)
        eventually(lambda: gateway.weights == [_PERCENT, _PERCENT], about=lambda: gateway.kept)
        _fail_at_the_canary(gateway)
        gateway.decided("RolledBack", 3)
        eventually(lambda: gateway.at_rest(2), about=lambda: gateway.kept)
        _answered(clients, 2)
    assert not clients.failed
    gateway.has_no_changes()


def _share(answers: list[Answer], version: int) -> float:
    """Of the canary's answers, before it had enough for its gate."""
    values = [one.value for one in sorted(answers, key=lambda one: one.at)]
    positions = [position for position, value in enumerate(values) if value == _VALUES[version]]
    return _COUNTED / (positions[_COUNTED - 1] + 1)


def _answered(clients: Clients, version: int) -> None:
    """Wait until clients get the answers of this version alone."""
    eventually(lambda: clients.values_since(time.monotonic() - 1) == {json.dumps(_VALUES[version])})


def _fail_at_the_canary(gateway: Gateway) -> None:
    """Requests that the canary refuses, sent to it alone, until it ends."""
    service = gateway.kube.get(f"{_INSIDE}/services/half-canary") or {}
    url = f"http://{service['spec']['clusterIP']}:8501/v1/models/half:predict"
    for _ in range(_REQUESTS):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, json.dumps({"instances": ["no number"]}).encode(), timeout=30)


def test_grpc_comes_through_and_what_replaces_models_does_not(gateway: Gateway) -> None:
    trust = grpc.ssl_channel_credentials(gateway.certificate.read_bytes())
    named = (("grpc.ssl_target_name_override", _GRPC),)
    with grpc.secure_channel(f"{gateway.address}:443", trust, options=named) as channel:
        assert _call(channel, "/grpc.health.v1.Health/Check") == b"\x08\x01", "SERVING"
        with pytest.raises(grpc.RpcError):
            _call(channel, "/tensorflow.serving.ModelService/HandleReloadConfigRequest")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        gateway.send()(f"https://{_REST}/monitoring/prometheus/metrics", timeout=30)


def _call(channel: grpc.Channel, method: str) -> bytes:
    """The answer to an empty message."""
    unary = channel.unary_unary(method, request_serializer=bytes, response_deserializer=bytes)
    answer: bytes = unary(b"", timeout=60, wait_for_ready=True)
    return answer
