"""Charts that are fetched: from an HTTP repository and from an OCI registry, both with credentials.

Source: `repositoryOpts` of `kubernetes:helm.sh/v3:Release`, and helm's docs on repositories and registries. The servers
are the test's own, with TLS and real HTTP authentication; helm is the real one.
"""

from __future__ import annotations

import base64
import datetime
import functools
import hashlib
import http.server
import ipaddress
import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tensorplane.plugins.kubernetes import helm_process
from tensorplane.plugins.kubernetes.helm_release import ReleaseResource
from tensorplane.plugins.kubernetes.values import Secret
from tests.provider.helm_support import URN

pytest_plugins = ["tests.provider.helm_fixtures"]

USER, PASSWORD = "reader", "open sesame"
EXPECTED = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


class Server(http.server.ThreadingHTTPServer):
    """Serves `answers` (path -> content type, body) to those who know the password."""

    answers: dict[str, tuple[str, bytes]]


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != EXPECTED:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="charts"')
            self.end_headers()
            return
        kind, body = self.server.answers.get(self.path, ("", b""))
        self.send_response(200 if kind else 404)
        self.send_header("Content-Type", kind or "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - the base class's name

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Keeps the test's output clean."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that is its own authority, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(hours=1))
    builder = builder.not_valid_after(now + datetime.timedelta(hours=1))
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    built = builder.add_extension(address, critical=False).sign(key, hashes.SHA256())
    (folder / "ca.pem").write_bytes(built.public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8
    pem = key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(pem)
    return folder / "ca.pem", folder / "key.pem"


@pytest.fixture
def server(certificate: tuple[Path, Path]) -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    server.answers = {}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def package(chart: Path, tmp_path: Path, helm_is_there: None) -> Path:
    subprocess.run(
        [helm_process.program(), "package", str(chart), "-d", str(tmp_path)], check=True, capture_output=True
    )
    return tmp_path / "tiny-0.1.0.tgz"


@pytest.fixture
def repository(server: Server, package: Path) -> str:
    index = package.parent / "index"
    index.mkdir()
    package.rename(index / package.name)
    subprocess.run([helm_process.program(), "repo", "index", str(index)], check=True, capture_output=True)
    for file in index.iterdir():
        server.answers[f"/{file.name}"] = ("application/octet-stream", file.read_bytes())
    return f"https://127.0.0.1:{server.server_port}"


@pytest.fixture
def registry(server: Server, package: Path) -> str:
    """The few requests of the OCI distribution API that a pull makes."""

    def store(content: bytes, media: str) -> dict[str, Any]:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        server.answers[f"/v2/charts/tiny/blobs/{digest}"] = ("application/octet-stream", content)
        return {"mediaType": media, "digest": digest, "size": len(content)}

    config = json.dumps({"name": "tiny", "version": "0.1.0", "apiVersion": "v2"}).encode()
    media = "application/vnd.cncf.helm"
    manifest_type = "application/vnd.oci.image.manifest.v1+json"
    layers = [store(package.read_bytes(), f"{media}.chart.content.v1.tar+gzip")]
    manifest = {"schemaVersion": 2, "mediaType": manifest_type, "layers": layers}
    body = json.dumps(manifest | {"config": store(config, f"{media}.config.v1+json")}).encode()
    for tag in ("0.1.0", f"sha256:{hashlib.sha256(body).hexdigest()}"):
        server.answers[f"/v2/charts/tiny/manifests/{tag}"] = (manifest_type, body)
    server.answers["/v2/charts/tiny/tags/list"] = ("application/json", b'{"name": "charts/tiny", "tags": ["0.1.0"]}')
    return f"oci://127.0.0.1:{server.server_port}/charts/tiny"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every command line that helm was started with."""
    seen: list[str] = []  # `helm_process` calls the same `subprocess.Popen`
    start = subprocess.Popen

    @functools.wraps(start)
    def popen(argv: list[str], **options: Any) -> Any:
        seen.append(" ".join(argv))
        return start(argv, **options)

    monkeypatch.setattr(subprocess, "Popen", popen)
    return seen


def install(helm: ReleaseResource, certificate: tuple[Path, Path], namespace: str, **given: Any) -> str:
    """Checks, previews and installs; returns the release's status."""
    options = {"username": USER, "password": Secret(PASSWORD), "caFile": str(certificate[0])}
    news = {"name": "web", "namespace": namespace, "version": "~0.1", **given}
    news["repositoryOpts"] = options | given.get("repositoryOpts", {})
    inputs, failures = helm.check({}, news, b"seed", URN)
    assert failures == []
    assert inputs["version"] == "0.1.0"  # the exact one that the constraint picks
    assert inputs["repositoryOpts"]["password"] == Secret(PASSWORD)
    helm.create(URN, inputs, preview=True)
    return str(helm.create(URN, inputs)[1]["status"]["status"])


def test_chart_of_a_repository(
    helm: ReleaseResource, certificate: tuple[Path, Path], repository: str, namespace: str, commands: list[str]
) -> None:
    status = install(helm, certificate, namespace, chart="tiny", repositoryOpts={"repo": repository})
    assert status == "deployed"
    assert commands
    assert not any(PASSWORD in command for command in commands)


def test_chart_of_a_registry(
    helm: ReleaseResource, certificate: tuple[Path, Path], registry: str, namespace: str, commands: list[str]
) -> None:
    assert install(helm, certificate, namespace, chart=registry) == "deployed"
    assert not any(PASSWORD in command for command in commands)


def test_wrong_password_is_a_check_failure_that_does_not_show_it(
    helm: ReleaseResource, certificate: tuple[Path, Path], repository: str
) -> None:
    options = {"repo": repository, "username": USER, "password": Secret("a guess"), "caFile": str(certificate[0])}
    _, failures = helm.check({}, {"chart": "tiny", "repositoryOpts": options}, b"seed", URN)
    assert [name for name, _ in failures] == ["chart"]
    assert "401" in failures[0][1]
    assert "a guess" not in failures[0][1]
