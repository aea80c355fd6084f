"""The Lease of an agent: never do two pods hold it, and what nobody holds is taken soon."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane.agents import lease
from tensorplane.agents.api import NOT_FOUND, ApiServer
from tensorplane.agents.lease import DEADLINE_SECONDS, DURATION_SECONDS, Lease, Lost
from tests.support import counts
from tests.support.leases import Leases

PATH = "apis/coordination.k8s.io/v1/namespaces/team/leases/agent.usage"
_DRAWS = counts.of(quick=60, nightly=20000)


class World:
    """Pods of one agent whose clocks begin anywhere and run at other speeds; requests that take time, or fail."""

    def __init__(self, rates: tuple[float, ...] = (1.0, 1.0)) -> None:
        self.time = 0.0
        self.leases = Leases()
        self.leases.create(PATH)
        self.pods = [self._pod(number, rate) for number, rate in enumerate(rates)]
        self.steps: Iterator[tuple[int, float, int, int, str]] = iter(())
        self.fates: dict[int, tuple[int, int, str]] = {}
        """How many steps others take before and after each request of a pod, and what becomes of it."""
        self.busy: set[int] = set()

    def _pod(self, number: int, rate: float) -> Lease:
        return Lease(
            _Server(self, number),
            "team",
            "agent.usage",
            f"pod-{number}",
            clock=lambda: 1000.0 * number + rate * self.time,
            now=lambda: self.time,
        )

    def act(self, number: int) -> str:
        """One pod asks for what it may ask for; the error that it met."""
        pod = self.pods[number]
        try:
            if pod.is_held:
                pod.renew(self.time)
            else:
                pod.try_take()
        except (OSError, Lost) as error:
            return type(error).__name__
        return ""

    def go_on(self, most: int) -> None:
        """So many of the steps that are left: others may act while a request is on its way."""
        for _ in range(most):
            if (step := next(self.steps, None)) is None:
                return
            number, seconds, before, after, fate = step
            self.pass_time(seconds)
            if number % len(self.pods) in self.busy:
                continue
            number %= len(self.pods)
            self.busy.add(number)
            self.fates[number] = before, after, fate
            self.act(number)
            self.busy.discard(number)
            self.assert_one()

    def pass_time(self, seconds: float) -> None:
        """Nobody does anything."""
        self.time += seconds
        self.assert_one()

    def assert_one(self) -> None:
        assert sum(pod.is_held for pod in self.pods) <= 1


class _Server(ApiServer):
    """One pod's way to the API server."""

    def __init__(self, world: World, number: int) -> None:
        super().__init__()
        self.__dict__.update(world=world, number=number)

    world: World
    number: int

    def send(self, method: str, path: str, body: Any = None, *, content_type: str | None = None) -> Any:
        before, after, fate = self.world.fates.get(self.number, (0, 0, ""))
        self.world.go_on(before)
        if fate == "lost":
            raise TimeoutError
        found = self.world.leases.answer(method, path, body)
        self.world.go_on(after)
        if fate == "unanswered":
            raise TimeoutError
        return found


@pytest.mark.counted
@settings(max_examples=_DRAWS)
@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from((0.0, 1.0, 2.0, 5.0, 10.0, 12.0, 15.0, 100.0)),
            st.sampled_from((0, 0, 0, 0, 1, 3)),
            st.sampled_from((0, 0, 0, 0, 1, 3)),
            st.sampled_from(("", "", "", "lost", "unanswered")),
        ),
        min_size=20,
        max_size=60,
    ),
    rates=st.lists(st.sampled_from((1.0, 1.25)), min_size=2, max_size=3),
)
def test_two_pods_never_hold_it(steps: list[tuple[int, float, int, int, str]], rates: list[float]) -> None:
    world = World(tuple(rates))
    world.steps = iter(steps)
    world.go_on(len(steps))
    # Afterwards the API server answers all: one of them works again.
    world.fates.clear()
    for _ in range(20):
        world.pass_time(1.0)
        for number in range(len(rates)):
            world.act(number)
    assert sum(pod.is_held for pod in world.pods) == 1


def test_a_waiter_waits_while_it_is_renewed_and_takes_it_when_it_no_longer_is() -> None:
    world = World()
    for _ in range(100):
        world.act(0)
        world.act(1)
        assert world.pods[0].is_held
        world.pass_time(DEADLINE_SECONDS / 2)
    waited = 0
    while not world.pods[1].is_held:
        world.act(1)
        world.pass_time(1)
        waited += 1
    assert DURATION_SECONDS <= waited + DEADLINE_SECONDS / 2 <= DURATION_SECONDS + DEADLINE_SECONDS / 2 + 2
    with pytest.raises(Lost, match=r"^Lease team/agent\.usage is held by pod-1$"):
        world.pods[0].renew(0.0)
    assert world.leases.there[PATH]["spec"]["leaseTransitions"] == 2


def test_a_released_one_is_taken_at_once_and_so_is_that_of_a_container_that_restarts() -> None:
    world = World()
    world.act(0)
    restarted = Lease(world.pods[0].api, "team", "agent.usage", "pod-0", clock=lambda: 0.0)
    restarted.try_take()
    assert restarted.is_held
    restarted.release()
    assert not restarted.is_held
    assert world.leases.holder(PATH) == ""
    world.act(1)
    assert world.pods[1].is_held


def test_the_platform_may_change_its_labels() -> None:
    world = World()
    world.act(0)
    world.leases.answer(
        "PATCH", PATH, {"metadata": {**world.leases.there[PATH]["metadata"], "labels": {"a": "b"}}, "spec": {}}
    )
    world.pass_time(DEADLINE_SECONDS - 1)
    assert world.act(0) == ""
    world.pass_time(DEADLINE_SECONDS - 1)
    assert world.pods[0].is_held


def test_it_says_when_the_pod_began_when_it_worked_and_when_it_renewed() -> None:
    world = World()
    world.act(0)
    world.pass_time(5)
    world.pods[0].renew(worked=3.0)
    found = world.leases.there[PATH]
    assert found["metadata"]["annotations"] == {lease.RENEWED: "1970-01-01T00:00:05.000000Z"}
    assert found["spec"] == {
        "holderIdentity": "pod-0",
        "leaseDurationSeconds": DURATION_SECONDS,
        "acquireTime": "1970-01-01T00:00:00.000000Z",
        "renewTime": "1970-01-01T00:00:03.000000Z",
        "leaseTransitions": 1,
    }


def test_one_that_is_gone_is_held_by_nobody() -> None:
    world = World()
    world.act(0)
    del world.leases.there[PATH]
    with pytest.raises(OSError, match=str(NOT_FOUND)):
        world.pods[0].renew(0.0)
    world.pass_time(DEADLINE_SECONDS)
    assert not world.pods[0].is_held
