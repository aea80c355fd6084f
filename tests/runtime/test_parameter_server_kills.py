"""Kills of workers, servers and chiefs of parameter-server training, at random moments.

The seed decides which and when.
"""

from __future__ import annotations

import random
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorplane.stop import EXIT_SAVED
from tests.runtime.launching import Workers
from tests.runtime.parameter_servers import Servers, chief_of, two_of_each
from tests.support import counts
from tests.support.waiting import eventually

_KILLS = counts.of(quick=5, nightly=50)
_SEED = counts.seed()
_ENDLESS = 10**6
_REPLAYED_STEPS = 100
"""The save interval, and what is trained while a checkpoint is written."""

pytestmark = [pytest.mark.counted, pytest.mark.nightly("kills; test_parameter_server.py has one of a worker")]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    with two_of_each(tmp_path) as found:
        yield found


def test_killed_workers_disturb_no_other_process(servers: Servers, tmp_path: Path) -> None:
    chance = random.Random(_SEED)
    with chief_of(tmp_path, servers, steps=_ENDLESS) as chief:
        (process,) = chief.processes
        for _ in range(_KILLS):
            _trains_on(chief)
            time.sleep(chance.uniform(0, 2))
            victim = ("worker", chance.randint(0, 1))
            servers.kill(victim)
            assert servers.code(victim) == -signal.SIGKILL
            time.sleep(chance.uniform(0, 3))
            others = list(servers.processes.values())
            servers.start(victim)
            _trains_on(chief)
            assert [each.poll() for each in (process, *others)] == [None] * 4, chief.output
        process.send_signal(signal.SIGTERM)
        assert chief.finish() == [EXIT_SAVED]
    assert "lost=" not in chief.output
    assert f"saved={_numbers('stopped', chief)[0]}\n" in chief.output
    assert [servers.code(task) for task in list(servers.processes)] == [EXIT_SAVED] * 4


def test_killed_chiefs_and_servers_are_resumed(servers: Servers, tmp_path: Path) -> None:
    chance = random.Random(_SEED)
    known = 0
    for number in range(_KILLS + 1):
        with chief_of(tmp_path, servers, steps=_ENDLESS) as chief:
            chief.until(r" step=\d+ loss=")
            assert known - _numbers("step", chief)[0] <= _REPLAYED_STEPS, (known, chief.output)
            chief.until(r" saved=")
            time.sleep(chance.uniform(0, 3))
            if number % 2:
                servers.kill(("ps", chance.randint(0, 1)))
                assert chief.finish() == [EXIT_SAVED], chief.output
            else:
                chief.kill()
            known = _step(chief)
            servers.restart()


def _numbers(name: str, chief: Workers) -> list[int]:
    return [int(found) for found in re.findall(rf" {name}=(\d+)", chief.output)]


def _step(chief: Workers) -> int:
    """The last step that it printed."""
    return max((int(step) for step in re.findall(r" step=(\d+) loss=", chief.output)), default=0)


def _trains_on(chief: Workers) -> None:
    """Waits for steps that come after this call."""
    before = _step(chief)
    eventually(lambda: _step(chief) > before + 100, about=lambda: chief.output)
