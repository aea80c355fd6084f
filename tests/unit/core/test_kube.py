"""The client of the Kubernetes API: what it sends, what it answers, and what people read if a request fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tensorplane.core.api_connection import Connection
from tensorplane.core.errors import ApiError, UserError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube import JSON_PATCH, Kube, ReadableLists
from tensorplane.core.kube_objects import Objects
from tests.support.ports import refusing

POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ml"}}
PODS = "/api/v1/namespaces/ml/pods"
KINDS = {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True}, {"name": "pods/log", "kind": "Pod"}]}


def _refusal(status: int, reason: str, message: str) -> tuple[int, str]:
    return status, json.dumps({"kind": "Status", "reason": reason, "message": message})


ANSWERS: dict[tuple[str, str], tuple[int, str]] = {
    ("GET", "/api/v1"): (200, json.dumps(KINDS)),
    ("GET", PODS): (200, json.dumps({"items": [{"metadata": {"name": "a"}}]})),
    ("GET", f"{PODS}/a"): (200, json.dumps(POD)),
    ("GET", f"{PODS}/none"): _refusal(404, "NotFound", 'pods "none" not found'),
    ("GET", "/api/v1/secrets"): _refusal(403, "Forbidden", "secrets is forbidden"),
    ("GET", "/api/v1/proxied"): (502, "<html>Bad gateway</html>"),
    ("POST", PODS): _refusal(409, "AlreadyExists", 'pods "a" already exists'),
    ("PATCH", f"{PODS}/a"): (200, json.dumps(POD)),
    ("DELETE", f"{PODS}/none"): _refusal(404, "NotFound", 'pods "none" not found'),
}


class Server(BaseHTTPRequestHandler):
    """Gives the answers, and notes method, path and query, type of content and body."""

    asked: list[tuple[str, str, str, str]]

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        self.asked.append((self.command, self.path, self.headers["Content-Type"], body))
        status, text = ANSWERS[self.command, self.path.partition("?")[0]]
        self.send_response(status)
        self.send_header("Warning", '299 - "v1 is deprecated"')
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Server, "asked", [], raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def kube(address: str) -> Kube:
    return Kube(Connection.to(address), "Start it")


def test_absent_object_is_none_and_can_be_deleted(kube: Kube) -> None:
    assert kube.get(f"{PODS}/a") == POD
    assert kube.get(f"{PODS}/none") is None
    kube.delete(f"{PODS}/none")
    assert [one["metadata"]["name"] for one in kube.items(PODS)] == ["a"]


@pytest.mark.parametrize(
    ("path", "line", "message"),
    [
        ("/api/v1/secrets", "GET /api/v1/secrets: secrets is forbidden", "secrets is forbidden"),
        ("/api/v1/proxied", "GET /api/v1/proxied: 502 Bad Gateway", "502 Bad Gateway: <html>Bad gateway</html>"),
    ],
)
def test_refused_read_is_one_line(kube: Kube, path: str, line: str, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        kube.get(path)
    assert (refused.value.lines, refused.value.message) == ((line,), message)
    lists = ReadableLists(kube)
    assert (lists.read(path), lists.notes) == (None, [line])


def test_object_that_exists_is_told_from_other_conflicts(kube: Kube) -> None:
    with pytest.raises(ApiError, match=r'^Pod a: pods "a" already exists$') as refused:
        kube.create(PODS, POD)
    assert (refused.value.exists, refused.value.conflict) == (True, False)


def test_patch_sends_its_kind_of_patch(kube: Kube) -> None:
    patch = [{"op": "remove", "path": "/spec/volumeName"}]
    assert kube.patch(f"{PODS}/a", patch, JSON_PATCH) == POD
    assert Server.asked == [("PATCH", f"{PODS}/a", JSON_PATCH, json.dumps(patch))]


def test_objects_are_found_by_their_kind(kube: Kube) -> None:
    api, pods = Objects(kube), GVK("", "v1", "Pod")
    assert api.get(pods, "a", "ml") == POD
    assert api.list(pods, "ml", labels="app=a")[0]["kind"] == "Pod"
    assert api.apply(POD, manager="me", force=True, dry_run=True) == POD
    read, listed, applied = (path for _, path, _, _ in Server.asked[1:])
    assert (read, listed) == (f"{PODS}/a", f"{PODS}?labelSelector=app%3Da")
    assert applied == f"{PODS}/a?fieldManager=me&fieldValidation=Strict&dryRun=All&force=true"
    with pytest.raises(ApiError, match=r'^pods "none" not found$'):
        api.get(pods, "none", "ml")
    with pytest.raises(ApiError, match="the server knows no Node in v1") as unknown:
        api.get(GVK("", "v1", "Node"), "n")
    assert unknown.value.no_match


def test_warnings_of_the_server_are_passed_on(address: str) -> None:
    warnings: list[str] = []
    kube = Kube(Connection.to(address), on_warning=warnings.append)
    kube.get(f"{PODS}/a")
    assert warnings == ["v1 is deprecated"]


def test_cluster_that_ends_is_unreachable() -> None:
    with refusing() as port:
        connection = Connection.to(f"http://127.0.0.1:{port}", retries=0)
        with pytest.raises(UserError, match=rf"^no answer from http://127\.0\.0\.1:{port}: ") as gone:
            Kube(connection).get("/version")
    assert isinstance(gone.value, ApiError)
    assert gone.value.unreachable
