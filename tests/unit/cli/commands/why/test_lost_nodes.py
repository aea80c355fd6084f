"""`why` about a job of which pods are on a node that is lost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from agents.lost_nodes import cluster
from cli.commands.why import lost_nodes
from cli.kueue.facts import Details
from components.base.labels import FENCED
from tests.support.failed_jobs import NOW


def _pod(*, due: float | None, fenced: bool = False, phase: str = "Running") -> dict[str, Any]:
    about: dict[str, Any] = {"name": "digits-worker-0-1", "namespace": "ml"}
    if due is not None:
        about["deletionTimestamp"] = (NOW + timedelta(seconds=due)).strftime("%Y-%m-%dT%H:%M:%SZ")
    if fenced:
        about["annotations"] = {FENCED: "true"}
    return {"metadata": about, "spec": {"nodeName": "gpu-7"}, "status": {"phase": phase}}


@pytest.mark.parametrize("pod", [_pod(due=None), _pod(due=20), _pod(due=-10), _pod(due=-90, phase="Succeeded")])
def test_pods_that_run_or_end_in_time_need_no_line(pod: dict[str, Any]) -> None:
    assert list(lost_nodes.lines(Details([pod]), NOW)) == []


def test_a_pod_that_may_not_be_ended_by_force_is_named_with_the_command() -> None:
    (line,) = lost_nodes.lines(Details([_pod(due=-90)]), NOW)
    assert line.startswith("Node gpu-7 does not report the end of digits-worker-0-1, so no new pods start.")
    assert line.endswith(" kubectl -n ml delete pod digits-worker-0-1 --force --grace-period=0")


def test_a_fenced_pod_is_the_agents_to_end() -> None:
    (line,) = lost_nodes.lines(Details([_pod(due=-90, fenced=True)]), NOW)
    assert line.endswith("; the agent nodes.lost ends them once the node is lost.")


def test_what_the_agent_has_ended_is_told() -> None:
    event = cluster.event(_pod(due=None), "ended: node gpu-7 has sent no heartbeat for 41 s", "2026-11-30T03:33:09Z")
    (line,) = lost_nodes.lines(Details([], [event], "digits"), NOW)
    assert line == "digits-worker-0-1 was ended: node gpu-7 has sent no heartbeat for 41 s."
    assert list(lost_nodes.lines(Details([], [event], "digit"), NOW)) == [], "of another job"
