"""Requests to an API server: a thread keeps its connection for what it reads, and notices when the server ends it."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import urllib.error
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tensorplane.agents import api
from tensorplane.agents.api import ApiServer
from tests.support import plain_http


@dataclass
class _Server:
    """One that keeps connections, as the API server does."""

    client: ApiServer
    ports: list[int] = field(default_factory=list)
    """The client's, of each request."""
    connections: list[socket.socket] = field(default_factory=list)
    code: int = 200
    cut_at: int = 5
    """How much of the second line of a watch it sends."""

    def end_connections(self) -> None:
        for each in self.connections:
            with contextlib.suppress(OSError):  # this side has ended it already
                each.shutdown(socket.SHUT_RDWR)
        self.connections.clear()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    found: _Server

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.found.ports.append(self.client_address[1])
        self.found.connections.append(self.connection)
        said = json.dumps({"at": self.path}).encode() + b"\n"
        self.send_response(self.found.code)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._send(said)
        if "watch=true" in self.path:
            self._send(said[: self.found.cut_at])
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self._send(b"")

    def _send(self, part: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))

    do_GET = do_PATCH = _answer  # noqa: N815  # the names that the base class calls

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Server]:
    listening = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    found = _Server(plain_http.client(listening, tmp_path, monkeypatch))
    with plain_http.answering(listening, _Handler, found=found):
        yield found
        found.end_connections()


def test_what_is_read_one_after_the_other_is_read_on_one_connection(server: _Server) -> None:
    assert [server.client.send("GET", path) for path in ("a", "b?c=d")] == [{"at": "/a"}, {"at": "/b?c=d"}]
    assert len(set(server.ports)) == 1


def test_of_a_connection_that_the_server_has_ended_nobody_hears(server: _Server) -> None:
    server.client.send("GET", "a")
    server.end_connections()
    assert server.client.send("GET", "b") == {"at": "/b"}
    assert len(set(server.ports)) == 2


def test_what_changes_something_has_a_connection_of_its_own(server: _Server) -> None:
    """It is never sent twice, so it must not meet one that has ended."""
    server.client.send("GET", "a")
    server.end_connections()
    server.client.send("PATCH", "b", {})
    assert len(server.ports) == 2


def test_a_connection_that_was_idle_for_long_is_not_used_again(
    server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "_IDLE_SECONDS", 0.0)
    for path in ("a", "b"):
        server.client.send("GET", path)
    assert len(set(server.ports)) == 2


def test_threads_do_not_share_connections(server: _Server) -> None:
    server.client.send("GET", "a")
    other = threading.Thread(target=server.client.send, args=("GET", "b"))
    other.start()
    other.join()
    assert len(set(server.ports)) == 2


@pytest.mark.parametrize("code", [404, 409, 410, 500])
def test_a_refused_request_raises_its_code_and_leaves_nothing_behind(server: _Server, code: int) -> None:
    server.code = code
    with pytest.raises(urllib.error.HTTPError) as refused:
        server.client.send("GET", "a")
    assert (refused.value.code, json.load(refused.value)) == (code, {"at": "/a"})
    server.code = 200
    assert server.client.send("GET", "b") == {"at": "/b"}


def test_changes_that_break_off_are_an_error_of_the_connection(server: _Server) -> None:
    """An agent goes on after those."""
    changes = server.client.watch("a", "7", 1)
    assert next(changes) == {"at": "/a?watch=true&resourceVersion=7&timeoutSeconds=1"}
    with pytest.raises(OSError, match="JSONDecodeError"):
        next(changes)
