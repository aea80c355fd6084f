"""What tests of several agents share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import HTTPServer
from pathlib import Path

import pytest

from agents.api import ApiServer
from tests.support import plain_http
from tests.unit.agents.fake_api_server import FakeApiServer, Handler


@pytest.fixture
def api_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApiServer]:
    """A fake API server that runs."""
    monkeypatch.setattr("ssl.create_default_context", lambda cafile: None)
    monkeypatch.setattr("http.client.HTTPSConnection", plain_http.connection)
    (tmp_path / "token").write_text("secret")
    server = HTTPServer(("127.0.0.1", 0), Handler)
    fake = FakeApiServer(ApiServer(f"http://127.0.0.1:{server.server_port}", tmp_path))
    server.RequestHandlerClass = type("Bound", (Handler,), {"fake": fake})
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield fake
    server.shutdown()
    server.server_close()
