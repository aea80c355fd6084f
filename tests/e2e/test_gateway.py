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
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from tensorplane.core.step import Step
from tests.e2e import canary_server, stacks
from tests.e2e.canary_server import CanaryServer
from tests.e2e.conftest import Deployed
from tests.e2e.half_models import half
from tests.e2e.stacks import OwnStack
from tests.support import controllers
from tests.support.serving_clients import Answer, Clients
from tests.support.waiting import PATIENT_SECONDS, eventually

pytestmark = pytest.mark.nightly("the programs take minutes to build; told by test_rollouts.py and unit/agents")

_REST, _GRPC = "half.example.org", "grpc.half.example.org"
_PERCENT, _REQUESTS, _COUNTED = 10, 60, 50
_ASKED = {"instances": [2.0]}
_GATE = {"metric": "errorRate", "threshold": 0.05, "minRequests": _REQUESTS}
_SERVER = {
    **canary_server.settings("half", canary={"percent": _PERCENT, "gate": _GATE}),
    "resources": {"cpus": 0.15, "memoryGib": 1},
    "expose": {
        "kind": "gateway",
        "name": "public",
        "create": {"gatewayClass": "traefik", "certificate": "half-tls"},
        "hosts": [_REST],
        "grpcHosts": [_GRPC],
    },
}


class Gateway(CanaryServer):
    """The server, and the way to it through its Gateway."""

    def __init__(self, stack: OwnStack, certificate: Path) -> None:
        super().__init__(stack, "half")
        service = stack.kube.get("/api/v1/namespaces/traefik/services/traefik") or {}
        self.stack, self.certificate = stack, certificate
        self.address = str(service["spec"]["clusterIP"])

    @property
    def weights(self) -> list[int]:
        """The canary's, of both routes; none while a route does not divide its requests."""
        routes = f"/apis/gateway.networking.k8s.io/v1/namespaces/{self.namespace}"
        found = [self.kube.get(f"{routes}/{kind}/half") or {} for kind in ("httproutes", "grpcroutes")]
        backends = [one for route in found for one in route["spec"]["rules"][0]["backendRefs"]]
        return [one["weight"] for one in backends if one["name"] == "half-canary"]

    def tries(self, version: int) -> None:
        """Waits until the canary has a version, and its part of the requests."""
        self.decided("CanaryStarted", version)
        eventually(lambda: self.weights == [_PERCENT, _PERCENT], about=self.state)

    def rests(self, version: int) -> None:
        """Waits until there is this version alone."""
        self.settled(version)
        eventually(lambda: self.weights == [0, 0], about=self.state)

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
        self.stack.stack._run(["preview", "--expect-no-changes"], Step("preview"))


def _certify(stack: OwnStack, folder: Path) -> Path:
    """A certificate of the hosts, as the Secret that the Gateway names."""
    key, certificate = folder / "tls.key", folder / "tls.crt"
    names = f"subjectAltName=DNS:{_REST},DNS:{_GRPC}"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", "-x509", *curve, "-subj", "/CN=half", "-addext", names, *files], check=True)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "half-tls", "namespace": stack.namespace},
        "type": "kubernetes.io/tls",
        "data": {path.name: base64.b64encode(path.read_bytes()).decode() for path in (key, certificate)},
    }
    stack.kube.apply(f"/api/v1/namespaces/{stack.namespace}/secrets/half-tls", secret, "tests")
    return certificate


@pytest.fixture(scope="module")
def gateway(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """With its first version."""
    controllers.provide(deployed.instance, "traefik")
    with stacks.own(deployed, tmp_path_factory.mktemp("stack"), "gateway") as stack:
        stack.up(volumes={"models": canary_server.VOLUME}, workloads={"half": _SERVER})
        made = Gateway(stack, _certify(stack, tmp_path_factory.mktemp("certificate")))
        made.publish(half(1), 1)
        made.rests(1)
        eventually(lambda: _answers(made))
        yield made


def _answers(gateway: Gateway) -> bool:
    """Whether requests get through: the Gateway has read its certificate and its routes."""
    request = urllib.request.Request(f"https://{_REST}/v1/models/half:predict", json.dumps(_ASKED).encode())
    with contextlib.suppress(OSError), gateway.send()(request, timeout=PATIENT_SECONDS) as answer:
        return json.dumps(json.load(answer)["predictions"][0]) == canary_server.answer(1)
    return False


def test_a_canary_gets_its_percent_until_its_gate_decides_and_no_request_fails(gateway: Gateway) -> None:
    assert gateway.stack.workloads()["half"]["outside"] == {"rest": [_REST], "grpc": [_GRPC]}
    gateway.publish(half(2), 2)
    gateway.tries(2)
    gateway.has_no_changes()
    with gateway.clients() as clients:
        gateway.decided("Promoted", 2)
        gateway.rests(2)
        gateway.answers(clients, 2)
    assert not clients.failed
    assert _share(clients.answers, 2) == pytest.approx(_PERCENT / 100, abs=0.02)
    gateway.publish(half(3), 3)
    gateway.tries(3)
    # Before others come, whose right answers would promote it.
    _fail_at_the_canary(gateway)
    with gateway.clients() as clients:
        gateway.decided("RolledBack", 3)
        gateway.rests(2)
        gateway.answers(clients, 2)
    assert not clients.failed
    gateway.has_no_changes()


def _share(answers: list[Answer], number: int) -> float:
    """Of the canary's answers, from the first one, before which the Gateway may not know it, until it had almost enough
    for its gate."""
    values = [json.dumps(one.value) for one in sorted(answers, key=lambda one: one.at)]
    positions = [position for position, value in enumerate(values) if value == canary_server.answer(number)]
    return (_COUNTED - 1) / (positions[_COUNTED - 1] - positions[0])


def _fail_at_the_canary(gateway: Gateway) -> None:
    """Requests that the canary refuses, sent to it alone: all that its gate waits for."""
    service = gateway.kube.get(f"/api/v1/namespaces/{gateway.namespace}/services/half-canary") or {}
    url = f"http://{service['spec']['clusterIP']}:8501/v1/models/half:predict"
    for _ in range(_REQUESTS):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, json.dumps({"instances": ["no number"]}).encode(), timeout=PATIENT_SECONDS)


def test_grpc_comes_through_and_what_replaces_models_does_not(gateway: Gateway) -> None:
    trust = grpc.ssl_channel_credentials(gateway.certificate.read_bytes())
    named = (("grpc.ssl_target_name_override", _GRPC),)
    with grpc.secure_channel(f"{gateway.address}:443", trust, options=named) as channel:
        assert _call(channel, "/grpc.health.v1.Health/Check") == b"\x08\x01", "SERVING"
        with pytest.raises(grpc.RpcError):
            _call(channel, "/tensorflow.serving.ModelService/HandleReloadConfigRequest")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        gateway.send()(f"https://{_REST}/monitoring/prometheus/metrics", timeout=PATIENT_SECONDS)


def _call(channel: grpc.Channel, method: str) -> bytes:
    """The answer to an empty message."""
    unary = channel.unary_unary(method, request_serializer=bytes, response_deserializer=bytes)
    answer: bytes = unary(b"", timeout=PATIENT_SECONDS, wait_for_ready=True)
    return answer
