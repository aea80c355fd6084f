"""A fake API server for agents. It has no certificate, so their connections are plain ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tensorplane.agents.api import ApiServer


def connection(host: str, port: int, *, timeout: float, context: None) -> HTTPConnection:
    """In place of `http.client.HTTPSConnection`."""
    return HTTPConnection(host, port, timeout=timeout)


def client(server: HTTPServer, account: Path, monkeypatch: pytest.MonkeyPatch) -> ApiServer:
    """What an agent sends its requests with."""
    monkeypatch.setattr("ssl.create_default_context", lambda cafile: None)
    monkeypatch.setattr("http.client.HTTPSConnection", connection)
    (account / "token").write_text("secret")
    return ApiServer(f"http://127.0.0.1:{server.server_port}", account)


@contextmanager
def answering(server: HTTPServer, handler: type[BaseHTTPRequestHandler], **bound: object) -> Iterator[None]:
    """Answers until the end of the block. `bound`: what the handler has."""
    server.RequestHandlerClass = type("Bound", (handler,), bound)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield
    server.shutdown()
    server.server_close()
