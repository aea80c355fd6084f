"""Images are pushed by the distribution API, with Docker's credentials, which no message shows.

A small server here stands in for a registry: blobs by POST and PUT, manifests by PUT, a login by Basic or Bearer.
"""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.images import layer as layers
from tensorplane.images import oci, registry
from tensorplane.images.layer import Layer
from tensorplane.images.registry import Destination
from tests.support.ports import refusing

USER, PASSWORD = "robot", "never-shown"


class Registry(http.server.ThreadingHTTPServer):
    """The stand-in: what it stores, and which login it asks for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, bytes] = {}
        self.uploads = 0
        self.login = ""
        """Basic, Bearer, or none."""

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    """The requests of a push."""

    server: Registry

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _refused(self) -> bool:
        basic = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        wanted = {"": None, "Basic": basic, "Bearer": "Bearer a-token"}[self.server.login]
        if wanted is None or self.headers.get("Authorization") == wanted:
            return False
        realm = 'Basic realm="here"'
        if self.server.login == "Bearer":
            realm = f'Bearer realm="http://{self.server.host}/token",service="here",scope="repository:team/train:push"'
        self._answer(401, Www_Authenticate=realm)
        return True

    def do_HEAD(self) -> None:
        if not self._refused():
            self._answer(200 if self.path.rpartition("/")[2] in self.server.blobs else 404)

    def do_GET(self) -> None:
        if self.path == "/v2/":
            if not self._refused():
                self._answer(200)
        elif urlsplit(self.path).path == "/token":
            known = self.headers.get("Authorization", "").endswith(
                base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            )
            self._answer(200, b'{"token": "a-token"}') if known else self._answer(401)

    def do_POST(self) -> None:
        self._body()
        if not self._refused():
            self._answer(202, Location="/v2/team/train/blobs/uploads/1")

    def do_PUT(self) -> None:
        body = self._body()
        if self._refused():
            return
        if "/manifests/" in self.path:
            missing = [item for item in _digests(json.loads(body)) if item not in self.server.blobs]
            self.server.manifests[self.path] = body
            self._answer(400 if missing else 201)
            return
        digest = parse_qs(urlsplit(self.path).query)["digest"][0]
        assert digest == f"sha256:{hashlib.sha256(body).hexdigest()}"
        self.server.blobs[digest] = body
        self.server.uploads += 1
        self._answer(201)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))


def _digests(manifest: dict[str, object]) -> list[str]:
    config, parts = manifest["config"], manifest["layers"]
    assert isinstance(config, dict)
    assert isinstance(parts, list)
    return [config["digest"], *(part["digest"] for part in parts)]


@pytest.fixture
def server() -> Iterator[Registry]:
    with Registry() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Layer:
    """A layer with one file, and an own cache and home."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("DOCKER_CONFIG", raising=False)
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "file").write_text("content")
    diff_id, digest = layers.pack(tmp_path / "root", tmp_path / "packed")
    return Layer((tmp_path / "packed").rename(tmp_path / f"own-{'0' * 16}-{diff_id}-{digest}.tar.zst"))


def _push(server: Registry, layer: Layer) -> str:
    config = oci.Image("team/train:1", ()).config([layer])
    return registry.push(Destination.of(f"{server.host}/team/train:1"), config, [layer], Step("push"))


def _log_in(server: Registry, tmp_path: Path) -> None:
    auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker" / "config.json").write_text(json.dumps({"auths": {server.host: {"auth": auth}}}))


def test_a_pushed_image_is_whole_and_named_by_its_digest(server: Registry, layer: Layer) -> None:
    digest = _push(server, layer)
    [(path, manifest)] = server.manifests.items()
    assert path == "/v2/team/train/manifests/1"
    assert digest == f"sha256:{hashlib.sha256(manifest).hexdigest()}"
    assert set(_digests(json.loads(manifest))) == set(server.blobs)
    assert server.blobs[f"sha256:{layer.digest}"] == layer.path.read_bytes()


def test_parts_that_the_registry_has_are_not_sent_again(server: Registry, layer: Layer) -> None:
    first = _push(server, layer)
    sent = server.uploads
    assert (_push(server, layer), server.uploads) == (first, sent)


@pytest.mark.parametrize("login", ["Basic", "Bearer"])
def test_the_credentials_are_those_of_docker(server: Registry, layer: Layer, tmp_path: Path, login: str) -> None:
    server.login = login
    _log_in(server, tmp_path)
    _push(server, layer)
    assert len(server.manifests) == 1


@pytest.mark.parametrize("login", ["Basic", "Bearer"])
def test_without_a_login_the_command_for_it_is_named(
    server: Registry, layer: Layer, login: str, capfd: pytest.CaptureFixture[str]
) -> None:
    server.login = login
    with pytest.raises(UserError) as refused:
        _push(server, layer)
    [line] = refused.value.lines
    assert line.startswith(f"{server.host}/team/train:1: ")
    assert line.endswith(f"docker login {server.host}")
    assert PASSWORD not in "".join(capfd.readouterr())


def test_a_wrong_password_is_not_shown(
    server: Registry, layer: Layer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server.login = "Basic"
    _log_in(server, tmp_path)
    file = tmp_path / ".docker" / "config.json"
    wrong = base64.b64encode(b"robot:wrong-secret").decode()
    file.write_text(json.dumps({"auths": {server.host: {"auth": wrong}}}))
    with pytest.raises(UserError) as refused:
        _push(server, layer)
    shown = "".join([*refused.value.lines, *capfd.readouterr()])
    assert "wrong-secret" not in shown
    assert wrong not in shown


def test_an_unreachable_registry_is_named(server: Registry, layer: Layer) -> None:
    config = oci.Image("team/train:1", ()).config([layer])
    with refusing() as port:
        name = f"127.0.0.1:{port}/team/train:1"
        with pytest.raises(UserError, match=f"{re.escape(name)}: the registry cannot be reached"):
            registry.push(Destination.of(name), config, [layer], Step("push"))


@pytest.mark.parametrize("reference", ["train", "team/train:1", "registry.example/train", "https://a.b/c:1", "a.b/C:1"])
def test_a_destination_names_registry_path_and_tag(reference: str) -> None:
    with pytest.raises(UserError, match="use REGISTRY/PATH:TAG"):
        Destination.of(reference)
