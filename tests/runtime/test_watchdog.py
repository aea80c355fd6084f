"""Errors of TensorFlow about a worker that does not answer, as 2.21 words them, and those that mean something else."""

from __future__ import annotations

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
