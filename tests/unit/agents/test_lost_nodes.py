"""Which nodes count as lost, by a simulation of kubelets, and what becomes of the pods on them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane.agents.lost_nodes.cluster import TAINT, Cluster
from tensorplane.agents.lost_nodes.controller import observe, reconcile
from tensorplane.agents.lost_nodes.evictions import Evictions
from tensorplane.agents.lost_nodes.nodes import Heartbeats, Node
from tensorplane.agents.lost_nodes.pods import FENCED, MARGIN, PodAction, decide
from tests.support import counts
from tests.unit.agents.fake_api_server import FakeApiServer

_DRAWS = counts.of(quick=100, nightly=5000)
_PERIOD, _LOOK = 10.0, 2.0
_GRACE = 50.0
"""When Kubernetes gives a node up."""


@dataclass
class _World:
    """Nodes whose kubelets renew their Leases, some of which die and come back."""

    count: int
    seed: int
    dead: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """When a node dies, and when it is back."""
    away: tuple[float, float] = (0.0, 0.0)
    """While the control plane is away: no heartbeat arrives, and nobody can look."""
    paused: tuple[float, float] = (0.0, 0.0)
    """While the agent is paused: heartbeats arrive, and nobody looks."""

    def lost(self, until: float, lost_after: float | None = None) -> list[tuple[float, str]]:
        """When each node is first said to be lost."""
        draw = random.Random(self.seed)
        heartbeats, found, told = Heartbeats(lost_after), list[tuple[float, str]](), set[str]()
        due = [draw.uniform(0, _PERIOD) for _ in range(self.count)]
        renewed, clock = ["0"] * self.count, 0.0
        given_up_at = [0.0] * self.count
        while clock < until:
            for node in range(self.count):
                while due[node] <= clock:
                    if not self._is_dead(node, due[node]) and not self._is_away(due[node]):
                        renewed[node], given_up_at[node] = f"{due[node]}", due[node] + _GRACE
                    # As kubelets do it: a little more than the period, and soon again after a failure.
                    due[node] += draw.uniform(1, 7) if self._is_away(due[node]) else _PERIOD * draw.uniform(1, 1.04)
            if not self._is_away(clock) and not self.paused[0] <= clock < self.paused[1]:
                nodes = {f"n{node}": Node(renewed[node], clock > given_up_at[node]) for node in range(self.count)}
                for name in heartbeats.lost(nodes, clock):
                    if name not in told:
                        told.add(name)
                        found.append((clock, name))
            clock += _LOOK * draw.uniform(0.9, 1.2)
        return found

    def _is_dead(self, node: int, at: float) -> bool:
        died, back = self.dead.get(node, (0.0, 0.0))
        return died <= at < back

    def _is_away(self, at: float) -> bool:
        return self.away[0] <= at < self.away[1]


_SEEDS = st.integers(0, 10**6)


@pytest.mark.counted
@settings(max_examples=_DRAWS, deadline=None)
@given(count=st.integers(2, 40), seed=_SEEDS, at=st.floats(60, 100), lost_after=st.sampled_from([None, 20.0, 60.0]))
def test_one_node_that_dies_is_lost_in_time_and_no_other(
    count: int, seed: int, at: float, lost_after: float | None
) -> None:
    found = _World(count, seed, {0: (at, 1e9)}).lost(at + 120, lost_after)
    ((when, name),) = found
    assert name == "n0"
    silent = max(lost_after or _GRACE, 26)
    assert silent - 1.04 * _PERIOD <= when - at <= silent + 2 * _LOOK + 1, "counted from the last heartbeat"


@pytest.mark.counted
@settings(max_examples=_DRAWS, deadline=None)
@given(
    count=st.integers(2, 40),
    seed=_SEEDS,
    share=st.floats(0.34, 1),
    spread=st.floats(0, 20),
    lost_after=st.sampled_from([None, 20.0]),
    restarted=st.booleans(),
)
def test_of_nodes_that_fall_silent_together_none_is_lost(
    count: int, seed: int, share: float, spread: float, lost_after: float | None, restarted: bool
) -> None:
    draw = random.Random(seed)
    together = max(2, int(share * count) + 1)
    born = 0.0 if restarted else 60.0
    spread = spread if lost_after is None else 0
    dead = {node: (born + draw.uniform(0, spread), 600.0) for node in range(min(together, count))}
    assert _World(count, seed, dead).lost(900, lost_after) == []


@pytest.mark.counted
@settings(max_examples=_DRAWS, deadline=None)
@given(count=st.integers(1, 40), seed=_SEEDS, length=st.floats(1, 300), lost_after=st.sampled_from([None, 20.0, 30.0]))
def test_while_the_control_plane_is_away_no_node_is_lost(
    count: int, seed: int, length: float, lost_after: float | None
) -> None:
    assert _World(count, seed, away=(50.0, 50.0 + length)).lost(700, lost_after) == []


@pytest.mark.counted
@settings(max_examples=_DRAWS, deadline=None)
@given(
    count=st.integers(1, 40),
    seed=_SEEDS,
    length=st.floats(1, 300),
    dead=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=40),
    lost_after=st.sampled_from([None, 20.0, 30.0]),
)
def test_what_was_silent_while_the_agent_was_paused_is_not_lost(
    count: int, seed: int, length: float, dead: list[tuple[float, float]], lost_after: float | None
) -> None:
    """Nodes that die and come back meanwhile, some or all of them, each in its own time."""
    silent = {node: (50 + length * min(part), 50 + length * max(part)) for node, part in enumerate(dead[:count])}
    assert _World(count, seed, silent, paused=(50.0, 50.0 + length)).lost(700, lost_after) == []


def test_a_single_node_is_never_lost() -> None:
    assert _World(1, 7, {0: (60, 1e9)}).lost(400) == []


def test_nodes_that_are_dead_for_long_do_not_count() -> None:
    """Two of five have been off for an hour; a third one dies."""
    dead = {0: (0.0, 1e9), 1: (400.0, 1e9), 2: (900.0, 1e9)}
    assert [name for _, name in _World(5, 3, dead).lost(1100)] == ["n0", "n1", "n2"]


def test_a_node_that_is_back_is_not_lost() -> None:
    world = _World(3, 5, {0: (60.0, 130.0)})
    assert [name for _, name in world.lost(1000)] == ["n0"]
    heartbeats, clock = Heartbeats(20), 0
    for clock in range(0, 60, 2):
        alive = {"a": Node("0", False), "b": Node(str(clock // 10), False)}
        lost = heartbeats.lost(alive, clock)
    assert set(lost) == {"a"}
    assert (heartbeats.is_back("a", clock), heartbeats.is_back("b", clock)) == (False, True)
    assert heartbeats.lost({"a": Node("59", False), "b": Node("6", False)}, 61) == {}
    assert heartbeats.is_back("a", 61)


def test_a_node_without_a_lease_is_lost_once_kubernetes_gives_it_up() -> None:
    """As one that dies while it joins."""
    heartbeats, lost = Heartbeats(20), dict[str, float]()
    for clock in range(0, 120, 2):
        nodes = {"a": Node("", clock > 60), "b": Node(str(clock // 10), False), "c": Node("", False)}
        lost = heartbeats.lost(nodes, clock)
        assert lost == {} or clock > 60
    assert set(lost) == {"a"}


def _pod(*, fenced: bool = False, owner: str = "Job", phase: str = "Running", leaving: bool = False) -> dict[str, Any]:
    annotations = {FENCED: "true"} if fenced else {}
    about = {"name": "p", "annotations": annotations, "ownerReferences": [{"kind": owner, "uid": "set"}]}
    return {"metadata": {**about, **({"deletionTimestamp": "x"} if leaving else {})}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("pod", "silent", "expected"),
    [
        (_pod(fenced=True), 26, PodAction.END),
        (_pod(fenced=True, leaving=True), 26, PodAction.END),
        (_pod(fenced=True, phase="Pending"), 26, PodAction.END),
        (_pod(fenced=True, phase="Succeeded"), 26, PodAction.LEAVE),
        (_pod(fenced=True, phase="Failed"), 26, PodAction.LEAVE),
        (_pod(), 1000, PodAction.LEAVE),
        (_pod(owner="ReplicaSet"), 59, PodAction.LEAVE),
        (_pod(owner="ReplicaSet"), 60, PodAction.REPLACE),
        (_pod(owner="ReplicaSet", leaving=True), 90, PodAction.LEAVE),
        (_pod(owner="DaemonSet"), 1000, PodAction.LEAVE),
    ],
)
def test_fenced_pods_are_ended_at_once_and_those_of_deployments_replaced_after_a_minute(
    pod: dict[str, Any], silent: float, expected: PodAction
) -> None:
    assert decide(pod, silent) is expected


_NODES, _LEASES = "/api/v1/nodes", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_PODS = "/api/v1/namespaces/ml/pods"
_GPUS = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]
_LOST = [{"key": TAINT, "effect": "NoSchedule"}]


def _tainted(*taints: dict[str, str]) -> dict[str, Any]:
    """The patch of a node that has not changed meanwhile. The API server replaces all taints by those of a patch."""
    return {"metadata": {"resourceVersion": "7"}, "spec": {"taints": list(taints)}}


def _cluster(api: FakeApiServer, *, renewed: Mapping[str, str], tainted: Sequence[str] = ()) -> None:
    """Answers with these nodes, of which `gpu-7` has a pod that is fenced and one that is not."""
    leases = [{"metadata": {"name": name}, "spec": {"renewTime": at}} for name, at in renewed.items()]
    taints = {name: [*_GPUS, *(_LOST if name in tainted else ())] for name in renewed}
    nodes = [
        {"metadata": {"name": name, "resourceVersion": "7"}, "spec": {"taints": found}}
        for name, found in taints.items()
    ]
    pods = [_pod(fenced=True), _pod()]
    for number, pod in enumerate(pods):
        pod["metadata"] |= {"name": f"worker-{number}", "namespace": "ml", "uid": f"uid-{number}"}
    for path, items in ((_LEASES, leases), (_NODES, nodes), (_PODS, pods)):
        api.answers["GET", path] = (200, {"metadata": {"resourceVersion": "7"}, "items": items})


def _changes(api: FakeApiServer) -> list[tuple[str, str, Any]]:
    found = [each for each in api.asked if each[0] != "GET"]
    api.asked.clear()
    return found


def test_fenced_pods_of_a_lost_node_fail_as_disrupted_ones_and_are_deleted_at_once(api_server: FakeApiServer) -> None:
    """Their Job then counts no failure of their own. A pod of the same name that is there by then is another one."""
    cluster, heartbeats = Cluster(api_server.client, ["ml"]), Heartbeats(20)
    for clock in range(0, 30, 2):
        _cluster(api_server, renewed={"gpu-7": "0", "gpu-8": str(clock // 10), "gpu-9": str(clock // 10)})
        reconcile(cluster, heartbeats, Evictions(cluster), clock)
    (taint, status, deletion, event) = _changes(api_server)[:4]
    assert taint == ("PATCH", f"{_NODES}/gpu-7", _tainted(*_GPUS, *_LOST))
    assert status[:2] == ("PATCH", f"{_PODS}/worker-0/status")
    assert status[2]["metadata"] == {"uid": "uid-0"}
    assert status[2]["status"]["phase"] == "Failed"
    assert [each["type"] for each in status[2]["status"]["conditions"]] == ["DisruptionTarget"]
    assert deletion == ("DELETE", f"{_PODS}/worker-0", {"preconditions": {"uid": "uid-0"}, "gracePeriodSeconds": 0})
    assert event[2]["message"].startswith("ended: node gpu-7 has sent no heartbeat for ")
    asked = "fieldSelector=spec.nodeName%3Dgpu-7"
    reconcile(cluster, heartbeats, Evictions(cluster), 30)
    assert [path for method, path, _ in api_server.asked if method == "GET" and "/pods" in path] == [f"{_PODS}?{asked}"]


def test_who_has_watched_ends_the_pods_of_a_lost_node_in_its_first_turn(api_server: FakeApiServer) -> None:
    """The process that acted before may have been on that node."""
    cluster, heartbeats = Cluster(api_server.client, ["ml"]), Heartbeats(20)
    for clock in range(0, 30, 2):
        _cluster(api_server, renewed={"gpu-7": "0", "gpu-8": str(clock // 10), "gpu-9": str(clock // 10)})
        observe(cluster, heartbeats, clock)
    assert _changes(api_server) == []
    reconcile(cluster, heartbeats, Evictions(cluster), 30)
    assert ("DELETE", f"{_PODS}/worker-0") in [each[:2] for each in _changes(api_server)]


def test_what_is_left_on_a_node_that_is_lost_for_long_is_looked_at_every_ten_seconds(api_server: FakeApiServer) -> None:
    cluster, heartbeats = Cluster(api_server.client, ["ml"]), Heartbeats(20)
    evictions, looks = Evictions(cluster), list[int]()
    for clock in range(0, 400, 2):
        _cluster(api_server, renewed={"gpu-7": "0", "gpu-8": str(clock // 10), "gpu-9": str(clock // 10)})
        reconcile(cluster, heartbeats, evictions, clock)
        looks += [clock for method, path, _ in api_server.asked if method == "GET" and "/pods" in path]
        api_server.asked.clear()
    assert looks == [*range(26, 140, 2), *range(140, 400, 10)]


def test_argo_is_told_of_pods_until_it_has_taken_in_their_end(api_server: FakeApiServer) -> None:
    """It would wait ten minutes for what their executor may still report, and for the next change of the pod."""
    cluster, heartbeats = Cluster(api_server.client, ["ml"]), Heartbeats(20)
    pod = _pod(fenced=True, owner="Workflow")
    pod["metadata"] |= {"name": "part-0", "namespace": "ml", "uid": "uid-0", "labels": {}}
    running, done = {"running": {"startedAt": "2026-11-30T02:00:00Z"}}, {"terminated": {"exitCode": 0}}
    pod["status"]["containerStatuses"] = [
        {"name": "wait", "ready": True, "state": running},
        {"name": "main", "state": done},
        {"name": "keep", "state": {"waiting": {"reason": "ContainerCreating"}}},
    ]
    told: list[dict[str, Any]] = []
    for clock in range(0, 100, 2):
        _cluster(api_server, renewed={"gpu-7": "0", "gpu-8": str(clock // 10), "gpu-9": str(clock // 10)})
        api_server.answers["GET", _PODS] = (200, {"items": [pod]})
        reconcile(cluster, heartbeats, Evictions(cluster), clock)
        for method, path, body in _changes(api_server):
            assert method != "DELETE", "Argo would not see how it has ended"
            if path == f"{_PODS}/part-0/status":
                told.append(body["status"])
                pod["status"] |= body["status"]
        if clock == 60:
            pod["metadata"]["labels"] = {"workflows.argoproj.io/completed": "true"}
            before = len(told)
    assert len(told) == before == 5, "every eight seconds"
    assert len({each["message"] for each in told}) == 5, "Argo looks at changes"
    ends = [each["state"]["terminated"] for each in told[-1]["containerStatuses"]]
    assert [each["exitCode"] for each in ends] == [137, 0, 137]
    assert (told[0]["phase"], told[0]["reason"]) == ("Failed", "Evicted")


def test_what_had_failed_before_its_node_was_lost_stays_as_it_is() -> None:
    assert decide(_pod(fenced=True, owner="Workflow", phase="Failed"), 32) is PodAction.LEAVE


def test_a_node_that_is_back_gets_pods_again_once_its_heartbeat_is_seen(api_server: FakeApiServer) -> None:
    cluster, heartbeats = Cluster(api_server.client, ["ml"]), Heartbeats(20)
    _cluster(api_server, renewed={"gpu-7": "0", "gpu-8": "0"}, tainted=["gpu-7"])
    reconcile(cluster, heartbeats, Evictions(cluster), 0)
    assert _changes(api_server) == [], "another process has tainted it, and nobody knows yet"
    _cluster(api_server, renewed={"gpu-7": "1", "gpu-8": "1"}, tainted=["gpu-7"])
    reconcile(cluster, heartbeats, Evictions(cluster), 2)
    assert _changes(api_server) == [("PATCH", f"{_NODES}/gpu-7", _tainted(*_GPUS))]


@pytest.mark.parametrize("code", [403, 404, 409, 422])
def test_what_the_api_server_refuses_about_one_node_keeps_no_other_waiting(
    api_server: FakeApiServer, code: int
) -> None:
    cluster, heartbeats = Cluster(api_server.client, ["ml"]), Heartbeats(20)
    for clock in range(0, 30, 2):
        alive = {f"gpu-{number}": str(clock // 10) for number in (6, 8, 9)}
        _cluster(api_server, renewed={"gpu-7": "0", **alive}, tainted=["gpu-6"])
        for node in ("gpu-6", "gpu-7"):
            api_server.answers["PATCH", f"{_NODES}/{node}"] = (code, {"kind": "Status"})
        api_server.answers["PATCH", f"{_PODS}/worker-0/status"] = (code, {"kind": "Status"})
        reconcile(cluster, heartbeats, Evictions(cluster), clock)
    paths = [path for _, path, _ in _changes(api_server)]
    assert {f"{_NODES}/gpu-6", f"{_NODES}/gpu-7", f"{_PODS}/worker-0/status"} <= set(paths)


def _replica(name: str, node: str, *, ready: bool = True, of: str = "set") -> dict[str, Any]:
    made = _pod(owner="ReplicaSet")
    owners = [{"kind": "ReplicaSet", "uid": of}]
    made["metadata"] |= {"name": name, "namespace": "ml", "uid": f"uid-{name}", "ownerReferences": owners}
    made["metadata"]["labels"] = {"pod-template-hash": "5c4d"}
    made["status"]["conditions"] = [{"type": "Ready", "status": str(ready)}]
    return {**made, "spec": {"nodeName": node}}


@pytest.mark.parametrize(
    ("other", "is_spared"),
    [
        (_replica("server-1", "gpu-8"), False),
        (_replica("server-1", "gpu-7"), True),
        (_replica("server-1", "gpu-8", ready=False), True),
        (_replica("server-1", "gpu-8", of="another"), True),
    ],
    ids=["ready elsewhere", "lost as well", "not ready", "of another server"],
)
def test_a_server_on_a_lost_node_gets_no_requests_if_another_replica_is_ready(
    api_server: FakeApiServer, other: dict[str, Any], is_spared: bool
) -> None:
    """Until Kubernetes gives the node up, its Services know nothing. The last replica may still answer."""
    cluster, heartbeats = Cluster(api_server.client, ["ml"]), Heartbeats(20)
    for clock in range(0, 30, 2):
        _cluster(api_server, renewed={"gpu-7": "0", "gpu-8": str(clock // 10), "gpu-9": str(clock // 10)})
        api_server.answers["GET", _PODS] = (200, {"items": [_replica("server-0", "gpu-7"), other]})
        api_server.asked.clear()
        reconcile(cluster, heartbeats, Evictions(cluster), clock)
    patched = {path: body for method, path, body in _changes(api_server) if method == "PATCH"}
    if is_spared:
        assert f"{_PODS}/server-0/status" not in patched
    else:
        status = patched[f"{_PODS}/server-0/status"]
        assert status["metadata"] == {"uid": "uid-server-0"}
        assert [(each["type"], each["status"]) for each in status["status"]["conditions"]] == [("Ready", "False")]


def test_a_node_without_a_container_runtime_keeps_no_gang_waiting(api_server: FakeApiServer) -> None:
    """Its kubelet sends heartbeats, and cannot end the pods that Kubernetes evicts after five minutes."""
    cluster, heartbeats = Cluster(api_server.client, ["ml"]), Heartbeats(20)
    evictions, ended = Evictions(cluster), dict[int, list[tuple[str, str]]]()
    for clock in range(0, 90, 2):
        _cluster(api_server, renewed={name: str(clock // 10) for name in ("gpu-7", "gpu-8", "gpu-9")})
        nodes, pods = (api_server.answers["GET", path][1]["items"] for path in (_NODES, _PODS))
        nodes[0]["status"] = {"conditions": [{"type": "Ready", "status": "False"}]}
        for pod in pods:
            pod["spec"] = {"nodeName": "gpu-7"}
            pod["metadata"] |= {"deletionGracePeriodSeconds": 30} | ({"deletionTimestamp": "x"} if clock >= 10 else {})
        reconcile(cluster, heartbeats, evictions, clock)
        if changes := _changes(api_server):
            ended[clock] = [(method, path) for method, path, _ in changes]
    assert min(ended) == 10 + 30 + MARGIN
    assert ended[min(ended)][:2] == [("PATCH", f"{_PODS}/worker-0/status"), ("DELETE", f"{_PODS}/worker-0")]
    assert not [path for changes in ended.values() for _, path in changes if "worker-1" in path], "it is not fenced"


def test_controllers_that_jobs_wait_for_are_replaced_at_once() -> None:
    """The gang of the lost node cannot restart before."""
    found = [decide(_pod(owner=owner), 26, of_controller=True) for owner in ("ReplicaSet", "DaemonSet", "Job")]
    assert found == [PodAction.REPLACE, PodAction.LEAVE, PodAction.LEAVE]
