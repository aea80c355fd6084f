"""`make status` has a line for each run, with the reason where one failed."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from tensorplane.driver import status_tables
from tests.support.failed_jobs import NOW, RUN, TRACEBACK, UNPULLED, exited, job_set_of, pod_of, unpulled

MESSAGE = '{"published": {"version": "digits/3", "run": "digits-0901f9d5"}}'


def _drawn(facts: status_tables.ClusterObjects) -> str:
    drawn = io.StringIO()
    Console(width=200, file=drawn).print(status_tables.render(facts, NOW, embedded=True))
    return drawn.getvalue()


@pytest.mark.parametrize(
    ("job_set", "pods", "row"),
    [
        (
            job_set_of("Failed", restarts=3),
            [pod_of(**exited(1, TRACEBACK))],
            "Failed 3 60 min exit code 1; last line: ValueError: boom",
        ),
        (job_set_of("Completed"), [pod_of(phase="Succeeded", **exited(0))], "Completed 0 60 min"),
        (
            job_set_of("Completed"),
            [pod_of("worker-0-1", phase="Succeeded", **exited(0)), pod_of(phase="Succeeded", **exited(0, MESSAGE))],
            "Completed 0 60 min published digits/3",
        ),
        (job_set_of(), [pod_of(phase="Running", running={})], "Running 0 60 min"),
        (
            job_set_of(),
            [unpulled()],
            f"Starting 0 60 min {UNPULLED}",
        ),
        ({**job_set_of(), "spec": {"suspend": True}}, [], "Waiting 0 60 min"),
    ],
)
def test_status_has_a_line_for_each_run(job_set: dict[str, Any], pods: list[dict[str, Any]], row: str) -> None:
    facts = status_tables.ClusterObjects([], pods, [], [], [], job_sets=[job_set])
    training = _drawn(facts).partition("Training")[2].partition("\n\n")[0]
    assert " ".join(training.splitlines()[2].split()) == f"ml {RUN} {row}"
