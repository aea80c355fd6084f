"""A write waits for the webhook of a controller that restarts, and for nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tensorplane.core import kube
from tensorplane.core.api_connection import Connection
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube

_UNASKED = 'Internal error occurred: failed calling webhook "mjobset.kb.io": dial tcp: connect: connection refused'
_DENIED = 'admission webhook "vjobset.kb.io" denied the request: spec: Forbidden'
_JOB_SET = {"kind": "JobSet", "metadata": {"name": "train"}}


@contextmanager
def _answering(answers: Sequence[tuple[int, dict[str, Any]]]) -> Iterator[tuple[Kube, list[str]]]:
    """An API server that gives these answers, and the last one for ever; with the methods that it was asked."""
    asked: list[str] = []

    class Server(BaseHTTPRequestHandler):
        def do_PATCH(self) -> None:
            status, body = answers[min(len(asked), len(answers) - 1)]
            asked.append(self.command)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield (
                Kube(Connection.to(f"http://127.0.0.1:{server.server_port}"), "Start it"),
                asked,
            )
        finally:
            server.shutdown()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kube, "_RETRY_SECONDS", 0)


def test_a_webhook_that_restarts_is_waited_for() -> None:
    unasked = (500, {"message": _UNASKED})
    with _answering([unasked, unasked, (200, _JOB_SET)]) as (api, asked):
        assert api.apply("/jobsets/train", _JOB_SET, "test") == _JOB_SET
    assert len(asked) == 3


def test_a_webhook_that_stays_away_is_named_with_the_place_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kube, "_WEBHOOK_SECONDS", 0)
    with _answering([(500, {"message": _UNASKED})]) as (api, _), pytest.raises(UserError) as fault:
        api.apply("/jobsets/train", _JOB_SET, "test")
    (line,) = fault.value.lines
    assert line == (
        f"JobSet train: {_UNASKED}; it did not answer for 0 s. Look with: kubectl get pods --all-namespaces"
    )


@pytest.mark.parametrize("answer", [(403, _DENIED), (500, "etcdserver: request timed out")])
def test_another_refusal_is_said_at_once(answer: tuple[int, str]) -> None:
    status, message = answer
    with (
        _answering([(status, {"message": message})]) as (api, asked),
        pytest.raises(UserError, match=r"^JobSet train: "),
    ):
        api.apply("/jobsets/train", _JOB_SET, "test")
    assert len(asked) == 1
