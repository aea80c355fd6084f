"""The control plane is away, all nodes fall silent together, or the agent is paused: nothing that lives is ended."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tensorplane.core.kube import Kube
from tensorplane.embedded.cluster import cgroups
from tensorplane.embedded.instance import Instance
from tests.nodes.run import go_on, pause
from tests.nodes.trained import LOST_AFTER_SECONDS, Trained
from tests.support import cluster_fixture, counts
from tests.support.nodes import Program, RealNode
from tests.support.waiting import eventually

pytestmark = [pytest.mark.counted, pytest.mark.nightly("three minutes for each storm over a gang and a server")]
SEED = counts.seed()
STORMS = counts.of(quick=1, nightly=10)
"""For either setting of the agent."""
ENDLESS = 10**9
_AWAY_SECONDS = 180.0
_SILENT_SECONDS = (60.0, 200.0)
"""Kubernetes itself deletes the pods of a node after 50 and 300 seconds."""
_APART_SECONDS = {LOST_AFTER_SECONDS: 2.0, None: 20.0}
"""How long one node may fall silent after the other: before the one counts as lost."""
_QUIET_SECONDS = 75.0
"""In which what a storm has begun would end."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """The stack, whose server has a model."""
    with cluster_fixture.running(tmp_path_factory.mktemp("state"), "e2e", storage=True, nodes=2) as instance:
        made = Trained.on(instance, tmp_path_factory.mktemp("dev"))
        made.start(0, 600)
        made.finish()
        yield made


class _Storms:
    """Each method is one, from its begin to its end; it returns what happened."""

    def __init__(self, instance: Instance, chance: random.Random, apart: float) -> None:
        self._instance, self._chance, self._apart = instance, chance, apart
        self._nodes = [RealNode(instance, number) for number in (1, 2)]

    def api_server_is_gone(self) -> str:
        return self._gone("kube-apiserver")

    def api_server_hangs(self) -> str:
        return self._hangs("kube-apiserver")

    def etcd_hangs(self) -> str:
        return self._hangs("etcd")

    def nodes_are_silent(self) -> str:
        one, other = self._chance.sample(self._nodes, 2)
        apart, silent, back = self._up_to(self._apart), self._chance.uniform(*_SILENT_SECONDS), self._up_to(30)
        with _paused([one.pid("kubelet")]):
            time.sleep(apart)
            with _paused([other.pid("kubelet")]):
                time.sleep(silent)
            time.sleep(back)
        return f"{one.name} silent, {other.name} {apart:.1f} s later; back after {silent:.0f} s, {back:.0f} s apart"

    def agent_is_paused(self) -> str:
        paused, node = self._chance.uniform(*_SILENT_SECONDS), self._chance.choice([None, *self._nodes])
        late = self._up_to(15) if node else 0
        with contextlib.ExitStack() as silence:
            if node:
                silence.enter_context(_paused([node.pid("kubelet")]))
            self._hold_agents(paused)
            time.sleep(late)
        silent = f"{node.name} silent until {late:.0f} s afterwards" if node else "no node silent"
        return f"agent paused for {paused:.0f} s, {silent}"

    def _hold_agents(self, seconds: float) -> None:
        """Pause all pods of the agent, also those that replace them on the other node: nobody looks at the nodes."""
        held, end = set[int](), time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                new = _agents(self._instance) - held
                pause(new)
                held |= new
                assert held
                time.sleep(1)
        finally:
            go_on(held)

    def _gone(self, program: Program) -> str:
        self._nodes[0].kill(program, stays_dead=True)
        time.sleep(_AWAY_SECONDS)
        self._nodes[0].revive(program)
        return f"{program} gone for {_AWAY_SECONDS:.0f} s"

    def _hangs(self, program: Program) -> str:
        with _paused([self._nodes[0].pid(program)]):
            time.sleep(_AWAY_SECONDS)
        return f"{program} paused for {_AWAY_SECONDS:.0f} s"

    def _up_to(self, seconds: float) -> float:
        return self._chance.choice([0, self._chance.uniform(0, seconds)])


_KINDS: tuple[Callable[[_Storms], str], ...] = (
    _Storms.nodes_are_silent,
    _Storms.agent_is_paused,
    _Storms.api_server_is_gone,
    _Storms.nodes_are_silent,
    _Storms.agent_is_paused,
    _Storms.api_server_hangs,
    _Storms.nodes_are_silent,
    _Storms.agent_is_paused,
    _Storms.etcd_hangs,
    _Storms.nodes_are_silent,
)


@contextlib.contextmanager
def _paused(pids: list[int]) -> Iterator[None]:
    assert pids
    pause(pids)
    try:
        yield
    finally:
        go_on(pids)


def _agents(instance: Instance) -> set[int]:
    """The processes of all pods of the agent."""
    found = set()
    for pid in cgroups.processes(instance):
        with contextlib.suppress(OSError):
            if b"agents.lost_nodes" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
    return found


def _living(kube: Kube, namespace: str) -> dict[str, tuple[str, int, bool]]:
    """The pods of the gang and of the server: uid, restarts of containers, and whether they are being deleted."""
    return {
        each["metadata"]["name"]: (
            each["metadata"]["uid"],
            sum(one["restartCount"] for one in each["status"]["containerStatuses"]),
            "deletionTimestamp" in each["metadata"],
        )
        for each in kube.items(f"/api/v1/namespaces/{namespace}/pods")
        if each["metadata"]["name"].startswith("digits-") and each["status"]["phase"] == "Running"
    }


def _until_calm(trained: Trained) -> None:
    """Wait until the API server answers, and both nodes get pods."""

    def answers() -> bool:
        with contextlib.suppress(Exception):
            return bool(trained.kube.items("/api/v1/nodes"))
        return False

    eventually(answers)
    for number in (1, 2):
        RealNode(trained.instance, number).until(trained.kube, ready=True)


@pytest.mark.parametrize("lost_after", [LOST_AFTER_SECONDS, None])
def test_a_storm_ends_nothing_that_lives(trained: Trained, lost_after: int | None) -> None:
    chance = random.Random(f"{SEED} {lost_after}")
    trained.start(lost_after or 1, ENDLESS, lost_after=lost_after)
    eventually(lambda: trained.step() > 0)
    assert trained.outputs
    namespace = trained.outputs.namespace
    # Two workers, the server and its page.
    eventually(lambda: len(_living(trained.kube, namespace)) == 4)
    time.sleep(_QUIET_SECONDS)  # the agent has seen both nodes' heartbeats
    before = _living(trained.kube, namespace)
    assert len(before) == 4
    storms, kinds, told = _Storms(trained.instance, chance, _APART_SECONDS[lost_after]), list(_KINDS), list[str]()
    chance.shuffle(kinds)
    for kind in kinds[:STORMS]:
        told.append(kind(storms))
        print(told[-1], flush=True)
        _until_calm(trained)
        time.sleep(_QUIET_SECONDS)
        assert _living(trained.kube, namespace) == before, told
    step = trained.step()
    eventually(lambda: trained.step() > step)
    assert not trained.job_set()["status"].get("restarts")
