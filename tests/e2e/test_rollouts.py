"""Model servers under steady requests: versions that a canary tries and its gate decides on, swaps, evictions, kills.

No request fails but those that a bad version answers before its gate refuses it. Versions are swapped and pods
killed, and two fifths as many are promoted and rolled back, by the seed.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from tensorplane.cli.access import Access
from tensorplane.cli.commands.predict import command as predict
from tensorplane.cli.commands.predict.command import PredictOptions
from tensorplane.core.errors import UserError
from tests.e2e import canary_server, stacks
from tests.e2e.canary_server import CanaryServer, Server
from tests.e2e.conftest import Deployed
from tests.e2e.half_models import half as half_model
from tests.e2e.stacks import OwnStack
from tests.support import counts
from tests.support.evictions import Pods
from tests.support.serving_clients import Clients
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("random kills; e2e/paths has one promotion and one rollback")

_SWAPS = counts.of(quick=3, nightly=50)
_ROUNDS = max(1, _SWAPS * 2 // 5)


@dataclass(frozen=True)
class Serving:
    """The deployed stack: a server with a canary, and one that serves the newest version."""

    stack: OwnStack
    half: CanaryServer
    plain: Server


def _up(stack: OwnStack, **half: object) -> None:
    plain = {**canary_server.SIZE, "model": {"volume": "models", "path": "plain"}}
    workloads = {"half": canary_server.settings("half", **half), "plain": plain}
    stack.up(volumes={"models": canary_server.VOLUME}, workloads=workloads)


@pytest.fixture(scope="module")
def serving(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with stacks.own(deployed, tmp_path_factory.mktemp("stack"), "rollouts") as stack:
        _up(stack)
        made = Serving(stack, CanaryServer(stack, "half"), Server(stack, "plain"))
        for server in (made.half, made.plain):
            server.publish(half_model(1), 1)
        made.half.settled(1)
        made.plain.whole()
        yield made


@pytest.fixture
def half(serving: Serving) -> CanaryServer:
    return serving.half


def test_versions_that_would_break_clients_never_answer(half: CanaryServer) -> None:
    stable, version = half.stable, half.next_version()
    with half.clients() as clients:
        right = _first(clients)
        half.publish_files(version)
        assert half.decided("NotServed", version)["reason"] == "has no saved_model.pb"
        half.publish_files(version + 1, saved_model=b"no graph")
        assert "cannot be loaded" in half.decided("RolledBack", version + 1)["reason"]
        half.publish("other-input", version + 2)
        assert "input x is DT_INT32" in half.decided("RolledBack", version + 2)["reason"]
        half.settled(stable)
        at = time.monotonic()
        eventually(lambda: clients.values_since(at))
    assert clients.values_since(0) == right
    assert not clients.failed


@pytest.mark.counted
@pytest.mark.parametrize("number", range(_ROUNDS))
def test_a_canary_is_promoted_or_rolled_back_while_its_controller_is_killed(half: CanaryServer, number: int) -> None:
    chance = random.Random(f"{counts.seed()}-{number}")
    good = half.next_version()
    with half.clients() as clients:
        half.publish(half_model(number + 2), good)
        half.decided("CanaryStarted", good)
        _kill_controller(half, chance)
        assert half.decided("Promoted", good)["measured"]["errorRate"] == 0
        _kill_controller(half, chance)
        half.settled(good)
    assert not clients.failed
    bad = half.next_version()
    with half.clients() as clients:
        half.publish("failing", bad)
        half.decided("CanaryStarted", bad)
        _kill_controller(half, chance)
        assert "errors in" in half.decided("RolledBack", bad)["reason"]
        half.settled(good)
        at = time.monotonic()
        half.answers(clients, number + 2)
    assert not [each for each in clients.failed if each.at > at]


def _kill_controller(half: CanaryServer, chance: random.Random) -> None:
    """At a moment of the step that it is in; another one goes on."""
    time.sleep(chance.random() * 3)
    half.kill_controller()


def test_a_version_that_vanishes_is_reported_and_answers_no_more(half: CanaryServer) -> None:
    stable, version = half.stable, half.next_version()
    # Without clients, its gate does not promote it before it vanishes.
    half.publish(half_model(0), version)
    half.decided("CanaryStarted", version)
    half.remove(version)
    assert half.decided("RolledBack", version)["reason"] == "is no longer on the volume"
    half.settled(stable)
    with half.clients() as clients:
        right = _first(clients)
        put_back = half.remove(stable)
        assert half.decided("NotServed", stable)["reason"] == "is no longer on the volume"
        # Its pods are not Ready any more, and no other version answers in its place.
        eventually(lambda: not half.ready())
        put_back()
        half.settled(stable)
        at = time.monotonic()
        eventually(lambda: clients.values_since(at))
    assert clients.values_since(0) == right


def test_a_pinned_version_is_served_without_a_new_pod(serving: Serving) -> None:
    half, kube = serving.half, serving.stack.kube
    events = f"/api/v1/namespaces/{half.namespace}/events"
    # A stable version other than the one that is pinned.
    half.publish(half_model(5), other := half.next_version())
    try:
        with half.clients() as clients:
            half.settled(other)
            before = {pod["metadata"]["uid"] for pod in half.pods()}
            _up(serving.stack, pin=1)
            half.decided("Pinned", 1)
            half.answers(clients, 1)
        assert not clients.failed
        access = Access(kube, half.namespace, stack="rollouts")
        with pytest.raises(UserError, match=r"^--version: half/half does not serve version 99; choose one of 1$"):
            predict.run(access, PredictOptions("half", version=99), {"instances": [2.0]})
        assert {pod["metadata"]["uid"] for pod in half.pods()} == before
        assert len(eventually(lambda: kube.items(events, fieldSelector="involvedObject.name=half,reason=Pinned"))) == 1
        record = (half.folder / ".rollouts" / "half.jsonl").read_text().splitlines()
        numbers = [json.loads(line)["number"] for line in record]
        assert numbers == list(range(1, len(numbers) + 1))
    finally:
        # The newest one is tried first, and those that were refused before are not.
        half.publish(half_model(1), newest := half.next_version())
        _up(serving.stack)
        with half.clients():
            half.settled(newest)


@pytest.mark.counted
def test_swaps_evictions_and_kills_lose_no_request(serving: Serving) -> None:
    plain, chance = serving.plain, random.Random(counts.seed())
    pods = Pods(serving.stack.deployed.instance.kubeconfig, plain.namespace)
    with plain.clients() as clients:
        for version in range(2, _SWAPS + 2):
            plain.publish(half_model(version), version)
            plain.answers(clients, version)
        for _ in range(_ROUNDS):
            for name in plain.whole():
                eventually(partial(_evict, plain, pods, name))
        for _ in range(_SWAPS):
            _kill(plain, chance.choice(plain.whole()))
        plain.whole()
    assert not clients.failed


def _evict(plain: Server, pods: Pods, name: str) -> bool:
    """As `kubectl drain` does: the budget counts a pod as healthy a moment after it is ready."""
    return len(plain.ready()) == canary_server.REPLICAS and pods.evict(name, grace_seconds=30)


def _first(clients: Clients) -> set[str]:
    """What clients are answered, once they are."""
    return eventually(lambda: clients.values_since(0))


def _kill(plain: Server, pod: str) -> None:
    plain.kube.delete(f"/api/v1/namespaces/{plain.namespace}/pods/{pod}", gracePeriodSeconds="0")
    eventually(lambda: pod not in plain.ready())
