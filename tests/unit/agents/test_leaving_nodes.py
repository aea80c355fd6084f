"""What a node announces, by drawn nodes, and what the agent does about it, by a simulation of a cluster."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane.agents.lost_nodes import leaving
from tensorplane.agents.lost_nodes.cluster import Cluster
from tensorplane.agents.lost_nodes.device_faults import ALL_FAULTY_SECONDS, FAULT_SECONDS, Faults
from tensorplane.agents.lost_nodes.evictions import Evictions
from tensorplane.agents.lost_nodes.leaving import Kind, announcement
from tests.support import counts
from tests.unit.agents.cluster_in_memory import GPU, InMemory, World
from tests.unit.agents.fake_api_server import FakeApiServer

_DRAWS = counts.of(quick=150, nightly=5000)
_SOON, _SLOWLY = 6.0, 16.0
"""Seconds until the agent has seen what is urgent, and anything."""


def _taint(key: str) -> dict[str, Any]:
    return {"spec": {"taints": [{"key": key, "value": "x", "effect": "NoSchedule"}]}}


def _condition(kind: str, status: str = "True", reason: str = "", message: str = "") -> dict[str, Any]:
    return {"status": {"conditions": [{"type": kind, "status": status, "reason": reason, "message": message}]}}


_PARTS: dict[Kind | None, list[dict[str, Any]]] = {
    Kind.END: [
        _taint("aws-node-termination-handler/spot-itn"),
        _taint("aws-node-termination-handler/scheduled-maintenance"),
        _taint("aws-node-termination-handler/asg-lifecycle-termination"),
        _taint("cloud.google.com/impending-node-termination"),
        _condition("PreemptScheduled"),
        _condition("PreemptionScheduled", reason="SpotEvictionIncoming"),
        _condition("TerminateScheduled"),
        _condition("VMEventScheduled", message="Preempt Scheduled: Sat, 01 Aug 2026 05:41:02 GMT. EventId: 40B7BD88"),
        _condition("VMEventScheduled", message="Redeploy Scheduled: Sat, 01 Aug 2026 05:41:02 GMT."),
    ],
    Kind.FAULT: [
        _condition("AcceleratedHardwareReady", "False", "NvidiaXID79Error"),
        _condition("GPUMissing", reason="GPUMissing"),
    ],
    Kind.DRAIN: [
        _taint("karpenter.sh/disrupted"),
        _taint("ToBeDeletedByClusterAutoscaler"),
        _taint("remediator.kubernetes.azure.com/unschedulable"),
        {"spec": {"unschedulable": True}},
    ],
    None: [
        _taint("nvidia.com/gpu"),
        _taint("aws-node-termination-handler/rebalance-recommendation"),
        _taint("tensorplane.dev/lost"),
        _taint(leaving.TAINT),
        _condition("Ready"),
        _condition("Ready", "Unknown"),
        _condition("PreemptScheduled", "False"),
        _condition("VMEventScheduled", "False", "NoVMEventScheduled", "VM has no scheduled event"),
        _condition("VMEventScheduled", message="Freeze Scheduled: Sat, 01 Aug 2026 05:41:02 GMT."),
        _condition("AcceleratedHardwareReady"),
        _condition("AcceleratedHardwareReady", "Unknown"),
        _condition("AcceleratedHardwareReady", "False", "DCGMError"),
        _condition("XIDErrors", reason="XIDErrors"),
        {"spec": {"unschedulable": False}},
    ],
}
"""Parts of Node objects, by what they announce."""
_KINDS = list(_PARTS)


def _node(parts: Collection[tuple[Kind | None, int]], name: str = "gpu-7") -> dict[str, Any]:
    spec: dict[str, Any] = {"taints": []}
    node: dict[str, Any] = {
        "metadata": {"name": name, "resourceVersion": "1"},
        "spec": spec,
        "status": {"conditions": []},
    }
    for kind, index in parts:
        part = _PARTS[kind][index % len(_PARTS[kind])]
        spec["taints"] += part.get("spec", {}).get("taints", ())
        spec["unschedulable"] = spec.get("unschedulable") or part.get("spec", {}).get("unschedulable", False)
        node["status"]["conditions"] += part.get("status", {}).get("conditions", ())
    return node


def _can_be(parts: Collection[tuple[Kind | None, int]]) -> bool:
    """Whether a node can have all of them: it has one condition of a type."""
    types = [each["type"] for each in _node(parts)["status"]["conditions"]]
    return len(set(types)) == len(types)


_DRAWN_PARTS = st.lists(st.tuples(st.sampled_from(_KINDS), st.integers(0, 20)), max_size=4, unique=True).filter(_can_be)


@pytest.mark.counted
@settings(max_examples=_DRAWS, deadline=None)
@given(_DRAWN_PARTS)
def test_a_node_announces_the_most_urgent_of_what_it_has(parts: list[tuple[Kind | None, int]]) -> None:
    found = announcement(_node(parts))
    announced = [kind for kind, _ in parts]
    expected = next((kind for kind in (Kind.END, Kind.FAULT, Kind.DRAIN) if kind in announced), None)
    assert (found.kind if found else None) is expected


def test_the_fault_that_the_cloud_found_is_named() -> None:
    found = announcement(_node([(Kind.FAULT, 0)]))
    assert found is not None
    assert found.words == "has faulty accelerators: NvidiaXID79Error"


@pytest.mark.parametrize("node", [{"metadata": {"name": "a"}, "spec": {}}, _node([])])
def test_a_node_that_says_nothing_announces_nothing(node: dict[str, Any]) -> None:
    assert announcement(node) is None


def _world(*nodes: dict[str, Any]) -> tuple[World, Evictions]:
    world = World(nodes={each["metadata"]["name"]: each for each in nodes})
    return world, Evictions(Cluster(InMemory(world=world), ["ml"]))


_PODS = st.lists(
    st.tuples(
        st.sampled_from(["Job", "ReplicaSet", "Workflow", "DaemonSet", "Node"]),
        st.sampled_from(["Running", "Pending", "Succeeded", "Failed"]),
        st.booleans(),
    ),
    max_size=5,
)
"""Owner, phase, and whether a budget keeps it."""


@pytest.mark.counted
@settings(max_examples=_DRAWS, deadline=None)
@given(parts=_DRAWN_PARTS, drawn=_PODS)
def test_exactly_what_can_move_leaves_nodes_that_end_or_are_faulty(
    parts: list[tuple[Kind | None, int]], drawn: list[tuple[str, str, bool]]
) -> None:
    """Each is told once, and one that a budget keeps moves as soon as it may. The node gets pods again afterwards."""
    world, evictions = _world(_node(parts), _node([], "gpu-8"))
    for index, (owner, phase, guarded) in enumerate(drawn):
        world.add(f"p{index}", "gpu-7", owner=owner, phase=phase)
        world.add(f"other{index}", "gpu-8", owner=owner, phase=phase)
        world.guarded |= {f"p{index}"} if guarded else set()
    announced = announcement(_node(parts))
    leaves = announced is not None and announced.kind is not Kind.DRAIN
    movable = {
        f"p{index}"
        for index, (owner, phase, _) in enumerate(drawn)
        if leaves and owner not in ("DaemonSet", "Node") and phase not in ("Succeeded", "Failed")
    }
    is_urgent = announced is not None and announced.kind is Kind.END
    world.run(evictions, _SOON if is_urgent else FAULT_SECONDS + 2 * _SLOWLY)
    assert world.evicted.keys() == movable - world.guarded
    assert (leaving.TAINT in world.taints("gpu-7")) == leaves
    world.guarded.clear()
    world.run(evictions, _SLOWLY)
    assert world.evicted.keys() == movable
    assert sorted(name for name, _, _ in world.events) == sorted(movable)
    world.nodes["gpu-7"] |= {"spec": {**_taint(leaving.TAINT)["spec"], "unschedulable": True}, "status": {}}
    world.run(evictions, _SOON)
    assert leaving.TAINT not in world.taints("gpu-7")


def test_a_drain_by_people_is_told_once_and_nobody_else_evicts() -> None:
    world, evictions = _world(_node([(Kind.DRAIN, 3)]))
    world.add("worker", "gpu-7")
    world.add("other", "gpu-7")
    world.run(evictions, 60)
    world.drain("worker")
    world.drain("other")
    del world.pods["other"]["metadata"]["deletionTimestamp"]  # as of an eviction that a budget refused at last
    world.run(evictions, 60)
    assert world.evicted == {}
    assert world.events == [("worker", "NodeDrained", "evicted: node gpu-7 is drained")]
    assert world.taints("gpu-7") == set()


def test_a_drained_pod_that_has_ended_within_seconds_is_told() -> None:
    world, evictions = _world(_node([(Kind.DRAIN, 3)]))
    world.add("worker", "gpu-7")
    world.run(evictions, 11)
    world.drain("worker")
    world.run(evictions, 4)
    del world.pods["worker"]
    world.run(evictions, 60)
    assert world.events == [("worker", "NodeDrained", "evicted: node gpu-7 is drained")]


def test_a_node_that_is_lost_answers_no_eviction() -> None:
    world, evictions = _world(_node([(Kind.END, 0)]), _node([(Kind.FAULT, 0)], "gpu-8"))
    for node in world.nodes:
        world.add(f"on-{node}", node)
    for clock in range(0, 300, 2):
        evictions.reconcile(evictions.cluster.nodes(), world.nodes, clock)
    assert (world.evicted, world.events) == ({}, [])


def test_a_pod_that_the_cloud_evicts_first_is_told_too_and_not_evicted_again() -> None:
    world, evictions = _world(_node([(Kind.END, 7)]))
    world.add("worker", "gpu-7")
    world.drain("worker")
    world.run(evictions, 10)
    message = "evicted: node gpu-7 is a spot machine that Azure reclaims in 30 seconds"
    assert (world.evicted, world.events) == ({}, [("worker", "NodeLeaving", message)])


@pytest.mark.parametrize(("healthy", "seconds"), [(3, FAULT_SECONDS), (0, ALL_FAULTY_SECONDS)])
def test_a_pod_moves_from_a_device_that_stays_broken(healthy: int, seconds: float) -> None:
    """Others stay, the node gets pods, and a device that is back in time changes nothing."""
    world, evictions = _world(_node([]), _node([], "gpu-8"))
    for name in ("worker", "other"):
        world.add(name, "gpu-7", device=f"GPU-{name}")
    world.gpus("gpu-7", healthy=4)
    world.gpus("gpu-8", healthy=4)
    for _ in range(2):
        world.health("worker", "Unhealthy")
        world.gpus("gpu-7", healthy=healthy)
        world.run(evictions, seconds - _SLOWLY)
        world.health("worker", "Healthy")
        world.gpus("gpu-7", healthy=4)
        world.run(evictions, 2 * _SLOWLY)
    assert world.evicted == {}
    world.health("worker", "Unhealthy")
    world.gpus("gpu-7", healthy=healthy)
    began = world.clock
    world.run(evictions, seconds + 3 * _SLOWLY)
    assert list(world.evicted) == ["worker"]
    assert seconds <= world.evicted["worker"] - began <= seconds + 2 * _SLOWLY
    assert world.events == [("worker", "DeviceUnhealthy", f"evicted: {GPU} GPU-worker of node gpu-7 is unhealthy")]
    assert world.taints("gpu-7") == set()


def test_without_reports_only_a_pod_that_has_more_gpus_than_work_moves() -> None:
    """As before Kubernetes 1.36: of several pods nobody knows which one has the broken device."""
    world, evictions = _world(_node([]), _node([], "gpu-8"))
    for node in world.nodes:
        world.gpus(node, healthy=3)
    world.add("all", "gpu-7", gpus=4)
    for name in ("two", "others"):
        world.add(name, "gpu-8", gpus=2)
    world.add("cpu", "gpu-8")
    world.run(evictions, 600)
    assert list(world.evicted) == ["all"]
    assert world.events == [("all", "DeviceUnhealthy", f"evicted: {GPU} device of node gpu-7 is unhealthy")]


def test_a_plugin_that_is_gone_for_good_moves_nothing() -> None:
    """The kubelet reports its devices as unhealthy for five minutes, and then none."""
    world, evictions = _world(_node([]))
    world.add("worker", "gpu-7", device="GPU-1")
    world.health("worker", "Unhealthy")
    world.gpus("gpu-7", healthy=0)
    world.run(evictions, 330)
    world.gpus("gpu-7", healthy=0, there=0)
    world.run(evictions, 600)
    world.health("worker", "Unknown")
    world.gpus("gpu-7", healthy=3)
    world.run(evictions, 600)
    assert world.evicted == {}


def _acted_on(faults: Sequence[tuple[float, float]], equipped: int, away: tuple[float, float]) -> dict[int, float]:
    """When each fault, with its begin and end, is first due. `away`: while the agent cannot look."""
    seen, found, clock = Faults(), dict[int, float](), 0.0
    while clock < 1000:
        now = {(f"{index}", ""): FAULT_SECONDS for index, (begin, end) in enumerate(faults) if begin <= clock < end}
        if not away[0] <= clock < away[1]:
            for node, _ in seen.to_act_on(now, equipped, clock):
                found.setdefault(int(node), clock)
        clock += 10
    return found


def _seconds(least: int, most: int) -> st.SearchStrategy[float]:
    """In eighths, of which sums are exact: at a limit, rounding would decide."""
    return st.integers(8 * least, 8 * most).map(lambda eighths: eighths / 8)


@pytest.mark.counted
@settings(max_examples=_DRAWS, deadline=None)
@given(
    begins=st.lists(_seconds(0, 500), min_size=1, max_size=10),
    lasts=_seconds(1, 200),
    away=st.tuples(_seconds(0, 500), _seconds(0, 200)),
)
def test_a_fault_of_few_nodes_counts_once_it_was_seen_long_enough(
    begins: list[float], lasts: float, away: tuple[float, float]
) -> None:
    since, until = away[0], away[0] + away[1]
    found = _acted_on([(at, at + lasts) for at in begins], 3 * len(begins), (since, until))
    for index, begin in enumerate(begins):
        is_undisturbed = not (since - 10 < begin + lasts and begin < until)
        if is_undisturbed:
            assert (index in found) == (lasts >= FAULT_SECONDS + 10) or FAULT_SECONDS <= lasts < FAULT_SECONDS + 10
        if index in found:
            assert found[index] >= begin + FAULT_SECONDS


def test_while_the_agent_cannot_look_no_fault_lasts() -> None:
    assert _acted_on([(0, 1e9)], 3, away=(20, 220)) == {0: 240}


@pytest.mark.counted
@settings(max_examples=_DRAWS, deadline=None)
@given(
    begins=st.lists(_seconds(0, 20), min_size=2, max_size=20),
    more=st.floats(0, 1.99),
    away=st.tuples(_seconds(50, 500), _seconds(0, 200)),
)
def test_faults_that_begin_together_on_more_than_a_third_of_the_nodes_never_count(
    begins: list[float], more: float, away: tuple[float, float]
) -> None:
    equipped = len(begins) + int(more * len(begins))
    assert _acted_on([(at, 1e9) for at in begins], equipped, (away[0], away[0] + away[1])) == {}


def test_of_nodes_that_become_faulty_together_nothing_moves_until_they_work() -> None:
    world, evictions = _world(*(_node([], f"gpu-{index}") for index in range(5)))
    for index in range(5):
        world.gpus(f"gpu-{index}", healthy=4)
        world.add(f"p{index}", f"gpu-{index}")
    for index in range(2):
        world.nodes[f"gpu-{index}"]["status"]["conditions"] = _PARTS[Kind.FAULT][0]["status"]["conditions"]
    world.run(evictions, 1000)
    assert world.evicted == {}
    assert not any(map(world.taints, world.nodes))
    world.nodes["gpu-1"]["status"]["conditions"] = []
    world.run(evictions, 60)
    world.nodes["gpu-1"]["status"]["conditions"] = _PARTS[Kind.FAULT][0]["status"]["conditions"]
    world.run(evictions, 60)
    assert world.evicted.keys() == {"p1"}, "it became faulty later than the other"


def test_the_requests_are_those_of_the_eviction_api(
    api_server: FakeApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pod of the same name that is there by then is another one, and refuses it."""
    world, _ = _world()
    world.add("worker", "gpu-7")
    cluster = Cluster(api_server.client, ["ml"])
    path = "/api/v1/namespaces/ml/pods/worker/eviction"
    assert cluster.evict(world.pods["worker"])
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "worker", "namespace": "ml"},
        "deleteOptions": {"preconditions": {"uid": "uid-worker"}},
    }
    assert api_server.asked == [("POST", path, body)]
    for code in (404, 409, 429, 500):
        api_server.answers["POST", path] = (code, {})
        assert not cluster.evict(world.pods["worker"])
    assert capsys.readouterr().err == "ml/worker: not evicted: HTTP Error 500: Internal Server Error\n"
