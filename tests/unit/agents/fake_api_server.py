"""An API server for agents: it answers what a test says, and keeps what it was asked."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from agents.api import ApiServer


@dataclass
class FakeApiServer:
    """Answers by method and path, without the query."""

    client: ApiServer
    """Reaches it, with a token."""
    answers: dict[tuple[str, str], tuple[int, Any]] = field(default_factory=dict)
    """Status and body."""
    unknown: tuple[int, Any] = (200, {})
    """The answer to everything else."""
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    """Method, path and body of each request."""


class Handler(BaseHTTPRequestHandler):
    """One request to the fake that a subclass names."""

    fake: FakeApiServer

    def _answer(self) -> None:
        assert self.headers["Authorization"] == "Bearer secret"
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        self.fake.asked.append((self.command, self.path, body))
        code, answer = self.fake.answers.get((self.command, self.path.partition("?")[0]), self.fake.unknown)
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815  # the names that the base class calls

    def log_message(self, *args: Any) -> None:
        """Print nothing."""
