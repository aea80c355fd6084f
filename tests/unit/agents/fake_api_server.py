"""An API server for agents: it answers what a test says, and keeps what it was asked."""

from __future__ import annotations

import json
import urllib.error
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tensorplane.agents.api import ApiServer
from tests.support.leases import Leases


@dataclass
class FakeApiServer:
    """Answers by method and path, without the query."""

    client: ApiServer
    """Reaches it, with a token."""
    answers: dict[tuple[str, str], tuple[int, Any]] = field(default_factory=dict)
    """Status and body."""
    unknown: tuple[int, Any] = (200, {})
    """The answer to everything else."""
    leases: Leases = field(default_factory=Leases)
    """Those of the cluster, which change."""
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
        path, _, query = self.path.partition("?")
        code, answer = self._found(path, body)
        self.send_response(code)
        self.end_headers()
        lines = _changes(answer) if "watch=true" in query.split("&") else [answer]
        self.wfile.write("\n".join(map(json.dumps, lines)).encode())

    def _found(self, path: str, body: Any) -> tuple[int, Any]:
        if "/leases/" not in path:
            return self.fake.answers.get((self.command, path), self.fake.unknown)
        try:
            return 200, self.fake.leases.answer(self.command, path[1:], body)
        except urllib.error.HTTPError as error:
            return error.code, {}

    do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815  # the names that the base class calls

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


def _changes(listed: Any) -> list[Any]:
    """What a watch of a list tells: as if all of it were changed."""
    return [{"type": "MODIFIED", "object": each} for each in listed["items"]]
