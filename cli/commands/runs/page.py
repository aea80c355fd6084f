"""Serves the page of a pipeline's runs on this machine: its stages drawn, and what is known of each."""

from __future__ import annotations

import contextlib
import json
import webbrowser
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from rich.console import Console
from rich.text import Text

from tensorplane.cli import tunnel
from tensorplane.cli.access import Access
from tensorplane.cli.commands.runs import page_content
from tensorplane.cli.commands.runs.ask import Asker
from tensorplane.cli.commands.runs.show import summary
from tensorplane.cli.pipelines import listing, workflow
from tensorplane.core.errors import UserError
from tensorplane.core.times import age

_POLICY = "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
"""The page needs nothing of any other host, and no other page may frame it."""
_MOST_RUNS = 50

Answer = Callable[[str, str], dict[str, Any]]
"""What the page shows of a run, by its name, with a chosen stage; without a name the newest."""


def run(access: Access, name: str, console: Console, *, port: int | None, opens: bool) -> None:
    """Shows the address, and serves the page until Ctrl-C. A UserError if there is no such run."""
    answer = answers(access, name)
    answer("", "")
    with contextlib.suppress(KeyboardInterrupt), serving(answer, port) as (url, thread):
        console.print(Text.assemble(f"{name}: ", (url, "bold")), soft_wrap=True)
        console.print(Text("Ctrl-C closes it.", style="dim"))
        if opens:
            webbrowser.open(url)
        thread.join()


def answers(access: Access, name: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Answer:
    """What the page of a pipeline shows, or that of one run."""
    asker = Asker(access)

    def answer(chosen: str, stage: str) -> dict[str, Any]:
        now = clock()
        there = workflow.of_name(access, name)
        runs = listing.list_runs(there, now)
        found = asker.details(chosen if chosen in [one.name for one in runs] else name, now)
        return {
            "name": found.run.name,
            "state": found.run.state,
            "ended": found.run.state in workflow.ENDS,
            "summary": summary(found, now),
            "picture": page_content.picture_of(found, chosen=stage),
            "stages": [
                {
                    "name": one.run.stage,
                    "facts": page_content.stage_details(
                        one, found, access.command(f"logs {found.run.name}/{one.run.stage}")
                    ),
                }
                for one in found.stages
            ],
            "runs": [
                {"name": one.name, "text": f"{one.name}: {one.state}, {age(one.created, now)} ago"}
                for one in runs[:_MOST_RUNS]
            ],
        }

    return answer


@contextlib.contextmanager
def serving(answer: Answer, port: int | None) -> Iterator[tuple[str, Thread]]:
    """The page's address and the thread that serves it. A UserError if the port is taken."""
    made = type("Made", (_Page,), {"answer": staticmethod(answer)})
    try:
        server = ThreadingHTTPServer((tunnel.HOST, port or 0), made)
    except OSError as error:
        raise UserError(f"--port: {port}: {error.strerror}; choose another one") from None
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{tunnel.HOST}:{server.server_port}/", thread
    finally:
        server.shutdown()
        server.server_close()


class _Page(BaseHTTPRequestHandler):
    """The page, and what it shows."""

    answer: Answer
    server: ThreadingHTTPServer

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if self.headers.get("Host") not in {f"{host}:{self.server.server_port}" for host in (tunnel.HOST, "localhost")}:
            # Another site's name that leads here must not read the cluster with the user's rights.
            self._send(403, "text/plain", b"ask for this machine by its own name")
        elif url.path == "/":
            self._send(200, "text/html; charset=utf-8", Path(__file__).with_name("page.html").read_bytes())
        elif url.path == "/state":
            query = parse_qs(url.query)
            self._state(query.get("run", [""])[0], query.get("stage", [""])[0])
        else:
            self._send(404, "text/plain", b"there is no such page")

    def _state(self, run: str, stage: str) -> None:
        try:
            status, found = 200, self.answer(run, stage)
        except UserError as error:
            status, found = 502, {"error": str(error)}
        self._send(status, "application/json", json.dumps(found).encode())

    def _send(self, status: int, content_type: str, content: bytes) -> None:
        self.send_response(status)
        headers = {"Content-Type": content_type, "Content-Length": str(len(content)), "Cache-Control": "no-store"}
        for name, value in {**headers, "Content-Security-Policy": f"{_POLICY}; frame-ancestors 'none'"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing: the page asks every few seconds."""
