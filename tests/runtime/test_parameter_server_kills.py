"""Kills of workers, servers and chiefs of parameter-server training, at random moments.

TENSORPLANE_KILLS is how many of each test, and TENSORPLANE_SEED is which.
"""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorplane.stop import EXIT_SAVED
from tests.runtime.launching import Workers
from tests.runtime.parameter_servers import Servers, chief_of, cluster, servers_of
from tests.support.waiting import PATIENT_SECONDS, eventually

_KILLS = int(os.environ.get("TENSORPLANE_KILLS", "5"))
_SEED = os.environ.get("TENSORPLANE_SEED", "1")
_ENDLESS = 10**6
_RESUMED_SECONDS = 30
_REPLAYED_STEPS = 100
"""The save interval, and what is trained while a checkpoint is written."""

pytestmark = pytest.mark.nightly


class _Log:
    """The chief's lines as they come: it never waits for its reader."""

    def __init__(self, chief: Workers) -> None:
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, args=(chief.processes[0].stdout,), daemon=True)
        self._reader.start()

    def _read(self, stream: Iterator[str]) -> None:
        for line in stream:
            self._lines.append(line)

    @property
    def text(self) -> str:
        return "".join(self._lines)

    @property
    def step(self) -> int:
        """The last step that it printed."""
        return max((int(step) for step in re.findall(r" step=(\d+) loss=", self.text)), default=0)

    def first(self, name: str) -> int:
        """A number of the first line with it."""
        found = eventually(lambda: re.search(rf" {name}=(\d+)", self.text), about=lambda: self.text)
        assert found
        return int(found[1])

    def close(self) -> None:
        """Read to the end."""
        self._reader.join(PATIENT_SECONDS)


@pytest.fixture
def servers() -> Iterator[Servers]:
    """Two workers and two parameter servers."""
    with servers_of(cluster()) as found:
        found.start_all()
        yield found


def test_killed_workers_disturb_no_other_process(servers: Servers, tmp_path: Path) -> None:
    chance = random.Random(_SEED)
    with chief_of(tmp_path, servers, steps=_ENDLESS) as chief:
        log = _Log(chief)
        for _ in range(_KILLS):
            _trains_on(log)
            time.sleep(chance.uniform(0, 2))
            victim = ("worker", chance.randint(0, 1))
            others = {task: number for task, number in servers.ids.items() if task != victim}
            servers.kill(victim)
            assert servers.code(victim) == -signal.SIGKILL
            time.sleep(chance.uniform(0, 3))
            servers.start(victim)
            _trains_on(log)
            assert all(servers.alive(task) for task in others), log.text
            assert chief.processes[0].poll() is None, log.text
        chief.processes[0].terminate()
        assert chief.processes[0].wait(PATIENT_SECONDS) == EXIT_SAVED
        log.close()
        assert "lost=" not in log.text
        assert f"saved={log.first('stopped')}\n" in log.text
    assert [servers.code(task) for task in list(servers.ids)] == [EXIT_SAVED] * 4


def test_killed_chiefs_and_servers_are_resumed_in_time(servers: Servers, tmp_path: Path) -> None:
    chance = random.Random(_SEED)
    began, known = 0.0, 0
    for number in range(_KILLS + 1):
        with chief_of(tmp_path, servers, steps=_ENDLESS) as chief:
            log = _Log(chief)
            resumed = log.first("step")
            eventually(lambda log=log: log.step, about=lambda log=log: log.text)  # type: ignore[misc]
            if number:
                assert time.monotonic() - began <= _RESUMED_SECONDS, log.text
                assert known - resumed <= _REPLAYED_STEPS, (known, log.text)
            log.first("saved")
            time.sleep(chance.uniform(0, 3))
            began = time.monotonic()
            if number % 2:
                servers.kill(("ps", chance.randint(0, 1)))
                assert chief.processes[0].wait(PATIENT_SECONDS) == EXIT_SAVED, log.text
            else:
                chief.processes[0].kill()
            log.close()
            known = log.step
            servers.restart()


def _trains_on(log: _Log) -> None:
    """Waits for steps that come after this call."""
    before = log.step
    eventually(lambda: log.step > before + 100, about=lambda: log.text)
