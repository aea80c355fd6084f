"""What tests of several agents share."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import HTTPServer
from pathlib import Path

import pytest

from tests.support import plain_http
from tests.unit.agents.fake_api_server import FakeApiServer, Handler


@pytest.fixture
def api_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApiServer]:
    """A fake API server that runs."""
    server = HTTPServer(("127.0.0.1", 0), Handler)
    fake = FakeApiServer(plain_http.client(server, tmp_path, monkeypatch))
    with plain_http.answering(server, Handler, fake=fake):
        yield fake
