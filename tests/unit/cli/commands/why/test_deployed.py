"""`why` about a model server, a scorer or a recorder: pods that do not run, or are on nodes that are lost or leave."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.agents.lost_nodes import cluster
from tensorplane.cli.commands.why import deployed
from tensorplane.cli.commands.why.answer import Answer
from tensorplane.cli.kueue.objects import JobObjects
from tensorplane.components.base.labels import COMPONENT

_READY, _NOT_READY = ({"type": "Ready", "status": status} for status in ("True", "False"))
_UNKNOWN = {"type": "Ready", "status": "Unknown"}
_POD = "digits-server-5f7c9d8b6-x2v5c"


def _pod(name: str = _POD, *, node: str = "gpu-7", gone: bool = False, ready: bool = True) -> dict[str, Any]:
    about = {"name": name, "namespace": "ml", "uid": name, **({"deletionTimestamp": "now"} if gone else {})}
    return {
        "metadata": about,
        "spec": {"nodeName": node},
        "status": {"phase": "Running", "conditions": [_READY if ready else _NOT_READY]},
    }


def _node(name: str = "gpu-7", *, condition: dict[str, str] = _READY, taint: str = "") -> dict[str, Any]:
    taints = [{"key": taint, "effect": "NoSchedule"}] if taint else []
    return {"metadata": {"name": name}, "spec": {"taints": taints}, "status": {"conditions": [condition]}}


def _answer(pods: list[dict[str, Any]], *nodes: dict[str, Any], events: list[dict[str, Any]] | None = None) -> Answer:
    return deployed.answer("digits-server", JobObjects(pods, events or []), [*nodes])


def test_a_server_whose_pods_run_on_sound_nodes_needs_no_line() -> None:
    found = _answer([_pod(), _pod("digits-server-5f7c9d8b6-aaaaa")], _node())
    assert (found.conclusion, found.state, found.lines) == ("digits-server: 2 of 2 pods ready", "running", ())
    assert _answer([]).conclusion == "digits-server has no pods"


def test_a_server_that_runs_without_a_model_says_what_it_waits_for() -> None:
    pod = _pod(ready=False)
    pod["metadata"]["labels"] = {COMPONENT: "serving"}
    told = "A model server is ready once its first model is loaded; see: tensorplane models digits-server"
    assert _answer([pod, pod], _node()).lines == ("2 of 2 pods have a node but do not run: Running, not ready.", told)
    pod["metadata"]["labels"] = {COMPONENT: "model-page"}
    assert told not in _answer([pod], _node()).lines


@pytest.mark.parametrize("node", [_node(condition=_UNKNOWN), _node(taint=cluster.TAINT)], ids=["unknown", "tainted"])
def test_a_pod_on_a_lost_node_may_still_answer_until_it_is_replaced(node: dict[str, Any]) -> None:
    then = "the agent nodes.lost replaces pods 60 s after the last heartbeat"
    assert _answer([_pod(ready=False)], node).lines[0] == f"Node gpu-7 is lost: {_POD} may still answer; {then}."
    other = _pod("digits-server-5f7c9d8b6-aaaaa", node="gpu-8")
    (line,) = _answer([_pod(gone=True), other], node, _node("gpu-8")).lines
    assert line == f"Node gpu-7 is lost: it does not report the end of {_POD}, which others have replaced."


def test_a_leaving_node_and_the_last_move_are_told() -> None:
    node = _node(taint="aws-node-termination-handler/spot-itn")
    (line,) = _answer([_pod()], node).lines
    assert line == f"Node gpu-7 is a spot instance that EC2 reclaims in two minutes: {_POD} must move."
    moved = cluster.event(_pod(), "NodeDrained", "evicted: node gpu-7 is drained", "2026-11-30T03:33:09Z")
    of_page = cluster.event(_pod("digits-server-page-5f7c9d8b6-x2v5c"), "NodeDrained", "no", "2026-11-30T03:34:09Z")
    (line,) = _answer([_pod(node="gpu-8")], node, events=[moved, of_page]).lines
    assert line == f"{_POD} was evicted: node gpu-7 is drained."


@pytest.mark.parametrize(
    ("kind", "known"), [("modelServer", True), ("scorer", True), ("notebook", False), ("trainingJob", False)]
)
def test_jobs_are_told_of_as_jobs(kind: str, known: bool) -> None:
    assert deployed.is_one({"desk": {"kind": kind}}, "desk") is known
    assert not deployed.is_one({"desk": {"kind": kind}}, "other")
