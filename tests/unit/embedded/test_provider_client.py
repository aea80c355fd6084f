"""The provider's connection to an API server that asks its clients for a certificate."""

from __future__ import annotations

import http.server
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from cryptography import x509

from embedded.cluster import kubeconfig, pki
from embedded.paths import Instance
from embedded.provider.kubeconfig import connect

_LEAVES = [pki.Leaf("server", "ca", "server", addresses=("127.0.0.1",)), pki.Leaf("admin", "ca", "tensorplane-admin")]


class _Who(http.server.BaseHTTPRequestHandler):
    """Answers with the name in the client's certificate."""

    def do_GET(self) -> None:  # the name that the base class calls
        assert isinstance(self.connection, ssl.SSLSocket)
        certificate = x509.load_der_x509_certificate(self.connection.getpeercert(binary_form=True) or b"")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(certificate.subject.rfc4514_string().encode())

    def log_message(self, *_: object) -> None:
        """Nothing: tests print what failed alone."""


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    pki.ensure(tmp_path, _LEAVES)
    return tmp_path


@pytest.fixture
def address(keys: Path) -> Iterator[str]:
    """Of a server that talks to clients of its authority alone."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(keys / "ca.crt"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(keys / "server.pem")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Who) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_certificate_of_the_kubeconfig_says_who_asks(keys: Path, address: str) -> None:
    config = yaml.safe_load(kubeconfig.render(Instance("test"), keys, "admin"))
    config["clusters"][0]["cluster"]["server"] = address
    answer = connect(config).rest_client.pool_manager.request("GET", address)
    assert answer.data == b"CN=tensorplane-admin"
