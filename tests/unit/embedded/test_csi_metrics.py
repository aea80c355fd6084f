"""Who reads the driver's metrics: over TLS, and only with a token that the API server lets read them."""

from __future__ import annotations

import json
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tensorplane.embedded.cluster import pki
from tensorplane.embedded.csi import metrics
from tensorplane.embedded.csi.api import Api
from tensorplane.embedded.csi.lag import Lag
from tests.support.ports import refusing
from tests.support.waiting import PATIENT_SECONDS

MAY, MAY_NOT = "Bearer of-a-prometheus", "Bearer of-a-pod"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates of a cluster on loopback: its API server's, the driver's, the metrics'."""
    folder = tmp_path_factory.mktemp("pki")
    served = [pki.Leaf(name, "ca", name, addresses=("127.0.0.1",)) for name in ("apiserver", "csi-metrics")]
    pki.ensure(folder, [*served, pki.Leaf("csi-driver", "ca", "csi-driver")])
    return folder


class Reviewing(BaseHTTPRequestHandler):
    """What the API server answers to the holder of a token who asks what it may do."""

    def do_POST(self) -> None:  # the base class' name
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert asked["spec"] == {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}
        who = self.headers["Authorization"]
        assert not self.connection.getpeercert(), "the question is the token's holder's, not the driver's"
        self.send_response(201 if who in (MAY, MAY_NOT) else 401)
        self.end_headers()
        self.wfile.write(json.dumps({"status": {"allowed": who == MAY}}).encode())

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Says nothing."""


@pytest.fixture
def api(keys: Path) -> Iterator[Api]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(keys / "ca.crt"))
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(keys / "apiserver.pem")
    with HTTPServer(("127.0.0.1", 0), Reviewing) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Api(f"https://127.0.0.1:{server.server_address[1]}", keys / "ca.crt", keys / "csi-driver.pem")
        server.shutdown()


@pytest.fixture
def address(keys: Path, api: Api) -> Iterator[str]:
    """Where metrics of no volume are."""
    server = metrics.serve(("127.0.0.1", 0), keys / "csi-metrics.pem", api.may_get, list[Lag])
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def ask(url: str, keys: Path, authorization: str = "") -> tuple[int, str]:
    trusting = ssl.create_default_context(cafile=str(keys / "ca.crt"))
    request = urllib.request.Request(url, headers={"Authorization": authorization} if authorization else {})
    try:
        with urllib.request.urlopen(request, timeout=PATIENT_SECONDS, context=trusting) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, ""


def test_a_token_that_may_read_them_reads_them(address: str, keys: Path) -> None:
    assert ask(f"https://{address}/metrics", keys, MAY) == (200, metrics.text([]))


@pytest.mark.parametrize(
    ("authorization", "status"), [("", 401), ("Basic YTpi", 401), ("Bearer nobody's", 401), (MAY_NOT, 403)]
)
def test_other_clients_are_refused(address: str, keys: Path, authorization: str, status: int) -> None:
    assert ask(f"https://{address}/metrics", keys, authorization) == (status, "")


def test_nothing_is_said_in_clear(address: str, keys: Path) -> None:
    with pytest.raises(OSError):
        ask(f"http://{address}/metrics", keys, MAY)


def test_nothing_is_said_while_the_api_server_is_gone(keys: Path) -> None:
    with refusing() as port:
        gone = Api(f"https://127.0.0.1:{port}", keys / "ca.crt", keys / "csi-driver.pem")
        server = metrics.serve(("127.0.0.1", 0), keys / "csi-metrics.pem", gone.may_get, list[Lag])
        try:
            assert ask(f"https://127.0.0.1:{server.server_address[1]}/metrics", keys, MAY) == (503, "")
        finally:
            server.shutdown()
            server.server_close()
