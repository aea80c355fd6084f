"""Nodes that are drained or announce their end at drawn moments, while a gang trains there: no step is lost.

Both nodes may have a part of the gang, the controllers and the agent; each leaves in turn, with all that it has.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.nodes import steps
from tests.nodes.pods import Pods
from tests.nodes.trained import Trained
from tests.support import cluster_fixture, counts
from tests.support.nodes import RealNode
from tests.support.waiting import PATIENT_SECONDS, eventually

pytestmark = [pytest.mark.counted, pytest.mark.nightly("minutes for each run on two nodes, whose gang moves six times")]
SEED = counts.seed()
RUNS = counts.of(quick=1, nightly=10)
LEAVES = 6
"""In each run; every other one is a drain."""
STEPS = 20_000

Undo = Callable[[], object]
_TAINTS = (
    "aws-node-termination-handler/spot-itn",
    "aws-node-termination-handler/scheduled-maintenance",
    "aws-node-termination-handler/asg-lifecycle-termination",
    "cloud.google.com/impending-node-termination",
)
_CONDITIONS: Mapping[str, tuple[str, str]] = {
    "PreemptScheduled": ("True", "Preempt Scheduled: Sat, 01 Aug 2026 05:41:02 GMT. EventId: 40B7BD88"),
    "PreemptionScheduled": ("True", "spot eviction incoming"),
    "RebootScheduled": ("True", "Reboot Scheduled"),
    "VMEventScheduled": ("True", "Terminate Scheduled: Sat, 01 Aug 2026 05:41:02 GMT. EventId: 40B7BD89"),
    "AcceleratedHardwareReady": ("False", "NvidiaXID79Error"),
}
"""Status and message of each condition that announces an end or a fault."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """The stack, and its first run, which nobody disturbs."""
    with cluster_fixture.running(tmp_path_factory.mktemp("state"), "e2e", storage=True, nodes=2) as instance:
        made = Trained.on(instance, tmp_path_factory.mktemp("dev"))
        made.start(0, STEPS)
        made.finish()
        yield made


def _drain(kubectl: Pods, node: RealNode, _: random.Random) -> tuple[str, Undo]:
    kubectl.kubectl(
        *("drain", node.name, "--ignore-daemonsets", "--delete-emptydir-data"), f"--timeout={PATIENT_SECONDS:.0f}s"
    )
    return "drained", lambda: kubectl.kubectl("uncordon", node.name)


def _announce(kubectl: Pods, node: RealNode, chance: random.Random) -> tuple[str, Undo]:
    key = chance.choice([*_TAINTS, *_CONDITIONS])
    if key in _TAINTS:
        kubectl.kubectl("taint", "node", node.name, f"{key}=x:NoSchedule")
        return key, lambda: kubectl.kubectl("taint", "node", node.name, f"{key}-")
    status, message = _CONDITIONS[key]
    _set_condition(kubectl, node, key, status, message)
    return key, lambda: _set_condition(kubectl, node, key, "False" if status == "True" else "True", "over")


def _set_condition(kubectl: Pods, node: RealNode, kind: str, status: str, message: str) -> None:
    condition = {"type": kind, "status": status, "reason": kind, "message": message}
    body = json.dumps({"status": {"conditions": [condition]}})
    kubectl.kubectl("patch", "node", node.name, "--subresource=status", "--type=strategic", "-p", body)


def _leave(trained: Trained, chance: random.Random, way: Callable[..., tuple[str, Undo]]) -> str:
    """Have a node with a part of the gang leave once, at a drawn step or in the gang's start, and stay after all."""
    eventually(lambda: trained.is_over() or _placed(trained))
    after = chance.choice([0, 1, trained.step() + chance.randrange(STEPS // LEAVES)])
    eventually(lambda: trained.is_over() or trained.step() >= min(after, STEPS))
    nodes = {node.name: node for node in (RealNode(trained.instance, number) for number in (1, 2))}
    there = {_node(each) for each in trained.pods()} - {""}
    if trained.is_over() or not there:
        return "it was over"
    name = chance.choice(sorted(there))
    kubectl, before, step = Pods(trained.instance, "default"), _uids(trained), trained.step()
    words, undo = way(kubectl, nodes[name], chance)
    try:
        # One that had computed its last step may end before.
        eventually(
            lambda: trained.is_over() or (not before & _uids(trained) and _placed(trained, but=name)),
            about=lambda: f"{name} {words}: {[(each['metadata']['name'], _node(each)) for each in trained.pods()]}",
        )
        time.sleep(chance.choice([0, 0, 5]))
        assert trained.is_over() or not any(_node(each) == name for each in trained.pods())
    finally:
        undo()
    nodes[name].until(trained.kube, ready=True)
    return f"{name} {words} after step {step}"


def _placed(trained: Trained, but: str = "") -> bool:
    """Whether the whole gang has nodes, which are other ones than `but`."""
    pods = trained.pods()
    return len(pods) == 2 and all(_node(each) not in ("", but) for each in pods)


def _node(pod: Mapping[str, Any]) -> str:
    return str(pod["spec"].get("nodeName") or "")


def _uids(trained: Trained) -> set[str]:
    return {each["metadata"]["uid"] for each in trained.pods()}


def test_runs_lose_no_step_when_their_nodes_are_drained_or_announce_their_end(trained: Trained) -> None:
    chance = random.Random(SEED)
    whole = trained.versions()["1"]
    assert len(whole) > 5
    for run in range(1, RUNS + 1):
        trained.start(run, STEPS)
        told = [_leave(trained, chance, way) for way in (_drain, _announce) * (LEAVES // 2)]
        print(f"run {run}: {'; '.join(told)}", flush=True)
        trained.finish()
        assert trained.job_set()["status"].get("restartsCountTowardsMax", 0) == 0
        steps.check(trained.logs(), STEPS)
        versions = trained.versions()
        assert sorted(versions, key=int)[-1] == str(run + 1), f"seed {SEED}: {told}: {sorted(versions)}"
        assert versions[str(run + 1)] == whole, f"seed {SEED}: {told}"
