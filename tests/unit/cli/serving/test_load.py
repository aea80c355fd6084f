"""Load tests: what is asked at which rate, how latencies count, and what a person sees of them."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from rich.console import Console

from tensorplane.cli.commands.load import report
from tensorplane.cli.serving import load
from tensorplane.cli.serving.load import Answer, Plan
from tests.support.ports import refusing
from tests.support.waiting import eventually


class Handler(BaseHTTPRequestHandler):
    """Answers; every tenth request is refused."""

    protocol_version = "HTTP/1.1"
    asked: list[bytes]

    def do_POST(self) -> None:
        self.asked.append(self.rfile.read(int(self.headers["Content-Length"])))
        refused = len(self.asked) % 10 == 0
        body = json.dumps({"error": "no\nroom"} if refused else {"predictions": [1]}).encode()
        self.send_response(503 if refused else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    Handler.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def test_as_many_requests_as_planned_are_sent_and_errors_have_their_reason(port: int) -> None:
    run = load.Run(Plan("digits", {"inputs": {"x": [0]}}, 200, 0.5, 4), "127.0.0.1", port)
    with run.started() as threads:
        for thread in threads:
            thread.join()
    found = load.summary(run.answers)
    assert (found.requests, found.errors) == (100, {"HTTP 503: no room": 10})
    assert set(Handler.asked) == {b'{"inputs": {"x": [0]}}'}
    assert found.p50 is not None and found.longest is not None
    assert found.p50 <= found.longest


def test_a_run_that_is_ended_early_keeps_what_it_has(port: int) -> None:
    run = load.Run(Plan("digits", {}, 50, 600, 2), "127.0.0.1", port)
    with run.started():
        eventually(lambda: len(run.answers) >= 3)
    assert 3 <= len(run.answers) < 50 * 600


def test_a_server_that_nobody_listens_at_is_an_error_of_each_request() -> None:
    with refusing() as port:
        run = load.Run(Plan("digits", {}, 100, 0.05, 1), "127.0.0.1", port)
        with run.started() as threads:
            threads[0].join()
    assert load.summary(run.answers).errors == {"ConnectionRefusedError": 5}


def test_zeros_have_the_shapes_of_the_signature() -> None:
    inputs: dict[str, dict[str, Any]] = {
        "image": {"dtype": "DT_FLOAT", "shape": [-1, 2, 3]},
        "name": {"dtype": "DT_STRING", "shape": [-1]},
        "count": {"dtype": "DT_INT64", "shape": None},
    }
    zeros = {"image": [[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]], "name": [""], "count": 0}
    assert load.zeros(inputs) == {"inputs": zeros}


def test_quantiles_and_rate_of_answers() -> None:
    answers = [Answer(at / 100, at + 1.0) for at in range(100)]
    found = load.summary([*answers, Answer(0.5, 9.0, "HTTP 503: no room")])
    assert (found.p50, found.p90, found.p99, found.longest) == (50, 90, 99, 100)
    assert found.rate == pytest.approx(100 / 1.09)
    assert load.summary([]).p50 is None


@pytest.mark.parametrize("width", [80, 160])
def test_the_report_fits_the_terminal(width: int) -> None:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    plan = Plan("digits", {}, 100, 10, 4)
    report.show("digits-server/digits", plan, [Answer(at / 50, 5 + at % 7) for at in range(500)], console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert lines[0].startswith("digits-server/digits: 500 requests, 50.1 answered per second, 0 failed")
    assert max(map(len, lines)) <= width
    assert any("p99" in line for line in lines)
    assert lines[-1].startswith("The server fell behind 100 requests per second")
