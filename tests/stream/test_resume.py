"""A reader that is killed and started again: no record is lost, none counts twice in the model."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.runtime.launching import IN_PODS, environments
from tests.stream.broker import Broker
from tests.support import counts
from tests.support.waiting import PATIENT_SECONDS

_NUMBERS = 2000
_PARTITIONS = 4
_KILLS = counts.of(quick=1, nightly=100)


class Run:
    """The counting program, started as often as a test wants on one checkpoint folder."""

    def __init__(self, broker: Broker, topic: str, folder: Path) -> None:
        self.group = f"{topic}-counting"
        stream = {"bootstrap": broker.bootstrap, "topics": [topic], "group": self.group, "settings": {}}
        self.environment = {
            **os.environ,
            "PYTHONPATH": IN_PODS,
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "STREAMS": json.dumps({"events": stream}),
            "CHECKPOINT_DIR": str(folder),
            "NUMBERS": str(_NUMBERS),
            "SAVE_EVERY": "10",
        }
        self.environment.pop("TF_CONFIG", None)

    @contextmanager
    def started(self, workers: int) -> Iterator[list[subprocess.Popen[str]]]:
        """Its processes, of which the first prints."""
        program = [sys.executable, str(Path(__file__).with_name("program.py"))]
        processes: list[subprocess.Popen[str]] = []
        try:
            for place in environments(workers):
                output = subprocess.DEVNULL if processes else subprocess.PIPE
                environment = {**self.environment, **place}
                processes.append(
                    subprocess.Popen(program, env=environment, text=True, stdout=output, stderr=subprocess.STDOUT)
                )
            yield processes
        finally:
            _kill(processes)


def _kill(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.kill()
    for process in processes:
        process.communicate()


def _until(process: subprocess.Popen[str], holds: Callable[[str], object]) -> str:
    """What it says up to the first line for which the condition holds."""
    said = ""
    for line in process.stdout or ():
        said += line
        if holds(line):
            return said
    raise AssertionError(f"no such line:\n{said}")


def _has_come_to(step: int) -> Callable[[str], bool]:
    """Whether a line tells of that step or of a later one: the run before may have come further than it was asked."""
    return lambda line: any(int(found) >= step for found in re.findall(r" step=(\d+)", line))


@pytest.mark.counted
@pytest.mark.nightly("two processes of TensorFlow for each kill")
def test_workers_killed_at_random_lose_nothing_and_count_nothing_twice(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    chance = random.Random(counts.seed())
    broker.create(topic, _PARTITIONS)
    broker.produce(topic, map(str, range(_NUMBERS // 2)), _PARTITIONS)
    run = Run(broker, topic, tmp_path)
    for kill in range(_KILLS):
        # Half of the steps have records so far, so that a late kill meets readers that wait.
        at = chance.randrange(kill * 100 // _KILLS, (kill + 1) * 100 // _KILLS, 5)
        with run.started(workers=2) as processes:
            if not kill:  # the next run must have something to resume from
                _until(processes[0], lambda line: "saved=" in line)
            _until(processes[0], _has_come_to(max(at, 5)))
        # Whatever the group's progress says: the checkpoint decides.
        broker.set_committed(run.group, topic, *([0] * _PARTITIONS))
    broker.produce(topic, map(str, range(_NUMBERS // 2, _NUMBERS)), _PARTITIONS)
    with run.started(workers=2) as processes:
        said = _until(processes[0], lambda line: "lost=" in line)
        assert [process.wait(PATIENT_SECONDS) for process in processes] == [0, 0]
    assert "resumed=True" in said
    assert "lost=0 twice=0" in said
    assert sum(broker.committed(run.group, topic, _PARTITIONS)) == _NUMBERS
