"""Two processes of one agent: the second acts once the first may not, and the first never again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tensorplane.agents import leader_election
from tests.support import leased_agent
from tests.support.leases import Leases
from tests.support.rendering import PROJECT
from tests.support.waiting import eventually
from tests.unit.agents.fake_api_server import FakeApiServer

PATH = f"apis/coordination.k8s.io/v1/namespaces/{leased_agent.NAMESPACE}/leases/{leased_agent.NAME}"
_LONG = 600.0

Agent = subprocess.Popen[str]
Begin = Callable[..., Agent]


@pytest.fixture
def leases(api_server: FakeApiServer) -> Leases:
    """Of the fake API server."""
    api_server.leases.create(PATH)
    return api_server.leases


@pytest.fixture
def begin(api_server: FakeApiServer, leases: Leases) -> Iterator[Begin]:
    """Starts an agent's process, by its pod's name."""
    with ExitStack() as running:

        def begun(pod: str, reconcile_timeout: float = _LONG) -> Agent:
            program = [sys.executable, "-m", "tests.support.leased_agent"]
            arguments = [api_server.client.address, str(api_server.client.account), pod, str(reconcile_timeout)]
            made = subprocess.Popen(
                [*program, *arguments], cwd=PROJECT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            running.enter_context(made)
            running.callback(made.kill)
            return made

        yield begun


def _tell(agent: Agent, line: str = "act") -> None:
    assert agent.stdin is not None
    agent.stdin.write(f"{line}\n")
    agent.stdin.flush()


def _printed(agent: Agent) -> str:
    """All that it has said once it has ended."""
    assert agent.stderr is not None
    return agent.stderr.read()


def _acts(server: FakeApiServer) -> list[str]:
    """The pods that have acted, in order."""
    return [path.rpartition("/")[2] for _, path, _ in list(server.asked) if "/acts/" in path]


def _act(server: FakeApiServer, agent: Agent, pod: str) -> None:
    _tell(agent)
    eventually(lambda: _acts(server)[-1:] == [pod])


@contextmanager
def _stopped(agent: Agent) -> Iterator[None]:
    agent.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        agent.send_signal(signal.SIGCONT)


def test_a_pod_that_was_paused_does_nothing_once_another_acts(api_server: FakeApiServer, begin: Begin) -> None:
    first = begin("first")
    _act(api_server, first, "first")
    with _stopped(first):
        _tell(first)
        _act(api_server, begin("second"), "second")
    end = "this process ends, and the next one waits for the Lease"
    assert _printed(first) == f"Lease team/agent.usage is held by second; {end}\n"
    assert first.wait() == 1
    assert _acts(api_server) == ["first", "second"]


def test_a_pod_watches_as_long_as_it_waits_and_no_longer(
    api_server: FakeApiServer, leases: Leases, begin: Begin
) -> None:
    def looks() -> list[str]:
        return [path.rpartition("/")[2] for _, path, _ in list(api_server.asked) if "/watched/" in path]

    first = begin("first")
    _act(api_server, first, "first")
    begin("second")
    eventually(lambda: len(looks()) > 2)
    first.terminate()
    eventually(lambda: leases.holder(PATH) == "second")
    seen, asked = looks(), len(api_server.asked)
    assert set(seen) == {"second"}
    eventually(lambda: len(api_server.asked) > asked + 3)
    assert looks() == seen


def test_a_pod_that_was_paused_in_a_turn_does_not_act_on_what_it_has_read(
    api_server: FakeApiServer, begin: Begin
) -> None:
    first = begin("first")
    _tell(first, "read")
    eventually(lambda: any("/reads/" in path for _, path, _ in list(api_server.asked)))
    with _stopped(first):
        time.sleep(2.5)  # longer than the Lease lasts, which nobody else takes
        _tell(first)
    assert _printed(first).startswith(
        "Lease team/agent.usage was not renewed for 2 seconds of a turn; this process ends"
    )
    assert _acts(api_server) == []


def test_a_pod_that_is_stopped_lets_another_act_at_once(
    api_server: FakeApiServer, leases: Leases, begin: Begin
) -> None:
    first = begin("first")
    _act(api_server, first, "first")
    first.terminate()
    assert first.wait() == 0
    assert leases.holder(PATH) == ""
    _act(api_server, begin("second"), "second")


def test_an_agent_that_hangs_ends(api_server: FakeApiServer, begin: Begin) -> None:
    hanging = begin("first", reconcile_timeout=0.3)
    _tell(hanging, "hang")
    assert _printed(hanging).startswith("no reconcile has begun or ended for 0.3 seconds; this process ends")
    assert hanging.wait() == 1
    assert _acts(api_server) == []


def test_without_an_answer_about_the_lease_nobody_acts_and_the_process_ends(
    api_server: FakeApiServer, leases: Leases, begin: Begin
) -> None:
    first = begin("first")
    _act(api_server, first, "first")
    del leases.there[PATH]
    assert "Lease team/agent.usage could not be renewed: HTTPError" in _printed(first)
    assert first.wait() == 1
    waiting = begin("second")
    assert waiting.stderr is not None
    remedy = "create it again with pulumi up --refresh"
    assert waiting.stderr.readline() == f"Lease team/agent.usage: it does not exist; {remedy}\n"
    _tell(waiting)
    assert _acts(api_server) == ["first"]
    leases.create(PATH)
    eventually(lambda: _acts(api_server) == ["first", "second"])


def test_an_agent_without_a_lease_acts_at_once() -> None:
    leader = leader_election.wait_to_lead({})
    with leader.reconciling(), leader.acting():
        pass
