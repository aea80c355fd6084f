"""A job with parameter servers: a killed worker is replaced alone, and the other pods end with the chief."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import SERVERS, Job, stack_of_jobs
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("five pods with TensorFlow; tests/runtime kills its processes")

# It trains while its worker is killed, and waits before its last steps for the worker that takes its place.
HELD = Job("held", "held.py", SERVERS, {"STEPS": "1000", "HOLD_AFTER": "saved=900 "}, saves=True)


def test_a_killed_worker_is_replaced_alone_and_all_end_with_the_chief(deployed: Deployed, tmp_path: Path) -> None:
    with stack_of_jobs(deployed, tmp_path, "servers", [HELD]) as (stack, running):
        running.said(HELD.name, r"saved=\d+", "chief-0")
        before = _uids(pods := running.pods(HELD.name))
        victim = before["worker-0"]
        assert sorted(before) == ["chief-0", "ps-0", "worker-0", "worker-1"]
        running.kill(pods["worker-0"])
        eventually(lambda: _uids(running.pods(HELD.name)).get("worker-0", victim) != victim)
        after = _uids(running.pods(HELD.name))
        assert {task for task in before if after.get(task) != before[task]} == {"worker-0"}, running.logs(HELD.name)
        (stack.volume("work") / "checkpoints" / f"{running.runs[HELD.name]}.go").touch()
        ended = running.ended(HELD.name)
        assert ended.succeeded, str(ended)
        assert not ended.restarts, str(ended)
        accuracy = running.said(HELD.name, r"accuracy=(\S+)", "chief-0")
        # The order of the gradients is the machine's.
        assert float(accuracy[1]) >= 0.8
        assert running.all_end(HELD.name)


def _uids(pods: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {task: pod["metadata"]["uid"] for task, pod in pods.items()}
