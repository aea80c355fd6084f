"""Errors of TensorFlow about a worker that does not answer, as 2.21 words them, and those that mean something else."""

from __future__ import annotations

import errno
import json
import socket

import pytest

from tensorplane import watchdog

_ABORTED = "Graph execution error:\n\nDetected at node CollectiveReduceV2\nCollective ops is aborted by: "


@pytest.mark.parametrize(
    ("message", "task"),
    [
        (
            f"{_ABORTED}Error reported from /job:worker/task:2: The following tasks are unhealthy (stopped sending "
            "heartbeats):\n/job:worker/replica:0/task:1\nThe tasks have crashed.",
            "worker 1",
        ),
        (f"{_ABORTED}Deadline Exceeded\n\nRPC: /tensorflow.CoordinationService/Heartbeat", "the first worker"),
        # A worker that has ended refuses connections; its own exit code decides.
        (f"{_ABORTED}failed to connect to all addresses; last error: UNKNOWN: Connection refused", None),
        (f"{_ABORTED}Connection reset by peer\n\nRPC: /tensorflow.CoordinationService/Heartbeat", None),
        ("Deadline Exceeded while reading gs://bucket/file", None),
    ],
)
def test_only_a_silent_worker_is_named(message: str, task: str | None) -> None:
    assert watchdog.silent(message) == task


_CONFIG = {
    "TF_CONFIG": json.dumps({"cluster": {"worker": ["a:1", "b:1", "c:1"]}, "task": {"type": "worker", "index": 1}})
}


@pytest.mark.parametrize(("gone", "task"), [("", None), ("c:1", "worker 2"), ("b:1", None), ("a:1 c:1", "worker 0")])
def test_a_worker_whose_machine_does_not_answer_is_named(gone: str, task: str | None) -> None:
    assert watchdog.unreachable(_CONFIG, lambda address: address not in gone) == task
    assert watchdog.unreachable({}, lambda _: False) is None


def test_a_machine_answers_whether_or_not_something_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert watchdog.answers(f"127.0.0.1:{port}")
    assert watchdog.answers(f"127.0.0.1:{port}")
    assert watchdog.answers("nowhere.invalid:1")


@pytest.mark.parametrize("error", [TimeoutError(), OSError(errno.EHOSTUNREACH, "No route to host")])
def test_a_machine_that_is_gone_does_not_answer(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(socket, "create_connection", fails)
    assert not watchdog.answers("10.0.0.1:2222")
