"""What the page of a model server answers, and what it forwards."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any

import pytest

from tensorplane.agents.model_page import __main__ as model_page
from tests.support.ports import refusing
from tests.support.waiting import PATIENT_SECONDS


class _ModelServer(BaseHTTPRequestHandler):
    """Answers with what it got; everything it does is refused."""

    def do_GET(self) -> None:
        self._answer(200, {"path": self.path})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._answer(400, {"path": self.path, "body": body, "type": self.headers["Content-Type"]})

    def _answer(self, status: int, found: dict[str, str]) -> None:
        content = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def _running(server: HTTPServer) -> Iterator[int]:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def port() -> Iterator[int]:
    """The page's, in front of a model server."""
    behind = ThreadingHTTPServer(("127.0.0.1", 0), _ModelServer)
    page = model_page.serve(0, f"http://127.0.0.1:{behind.server_port}", '{"models": ["digits"], "ink": 16}')
    with _running(behind), _running(page) as port:
        yield port


def _ask(port: int, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, Any, str]:
    """Status, content and type of an answer."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENT_SECONDS)) as asked:
        asked.request(method, path, body, headers)
        answer = asked.getresponse()
        assert "default-src 'none'" in str(answer.getheader("Content-Security-Policy"))
        content, kind = answer.read().decode(), str(answer.getheader("Content-Type"))
        return answer.status, json.loads(content) if kind == "application/json" else content, kind


def test_the_page_needs_nothing_of_other_hosts(port: int) -> None:
    status, page, kind = _ask(port, "GET", "/")
    assert (status, kind) == (200, "text/html; charset=utf-8")
    assert "<canvas" in page
    assert "//" not in page, "no address, not even one without a scheme"
    assert _ask(port, "GET", "/settings")[1] == {"models": ["digits"], "ink": 16}


def test_requests_of_models_are_forwarded_and_errors_come_back(port: int) -> None:
    assert _ask(port, "GET", "/v1/models/digits/metadata")[:2] == (200, {"path": "/v1/models/digits/metadata"})
    assert _ask(port, "POST", "/v1/models/digits:predict", "[1]")[:2] == (
        400,
        {"path": "/v1/models/digits:predict", "body": "[1]", "type": "application/json"},
    )


def test_other_paths_do_not_reach_the_server(port: int) -> None:
    assert _ask(port, "GET", "/monitoring/prometheus/metrics")[0] == 404
    assert _ask(port, "POST", "/v2/reload", "{}")[0] == 404


def test_a_request_that_is_too_large_is_not_read(port: int) -> None:
    status, answer, _ = _ask(port, "POST", "/v1/models/digits:predict", **{"Content-Length": str(1 << 30)})
    assert (status, answer["error"]) == (413, "a request has a Content-Length of at most 16777216 bytes")


def test_a_server_that_does_not_answer_is_a_reason() -> None:
    with refusing() as nobody, _running(model_page.serve(0, f"http://127.0.0.1:{nobody}", "{}")) as port:
        status, answer, _ = _ask(port, "GET", "/v1/models/digits/metadata")
    assert status == 502
    assert answer["error"].startswith("the model server does not answer: ")
