"""A reader that is killed and started again: no record is lost, none counts twice in the model."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.runtime.launching import PROJECT, environments
from tests.stream.broker import Broker

_NUMBERS = 4000
_PARTITIONS = 3
_KILLS = int(os.environ.get("TENSORPLANE_KILLS", "1"))


class Run:
    """The counting program, started as often as a test wants on one checkpoint folder."""

    def __init__(self, broker: Broker, topic: str, folder: Path, numbers: int = _NUMBERS) -> None:
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(PROJECT),
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "BOOTSTRAP": broker.bootstrap,
            "TOPIC": topic,
            "CHECKPOINT_DIR": str(folder),
            "NUMBERS": str(numbers),
            "SAVE_EVERY": "20",
        }
        self.environment.pop("TF_CONFIG", None)

    @contextmanager
    def started(self, workers: int = 1) -> Iterator[list[subprocess.Popen[str]]]:
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


def _until(process: subprocess.Popen[str], pattern: str) -> str:
    said = ""
    for line in process.stdout or ():
        said += line
        if re.search(pattern, line):
            return said
    raise AssertionError(f"no line matched {pattern!r}:\n{said}")


def _committed(broker: Broker, topic: str) -> list[int]:
    asked = [TopicPartition(topic, partition) for partition in range(_PARTITIONS)]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    told = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("counting", asked)])["counting"].result()
    return [at.offset for at in told.topic_partitions]


def _mislead(broker: Broker, topic: str) -> None:
    first = [TopicPartition(topic, partition, 0) for partition in range(_PARTITIONS)]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions("counting", first)])["counting"].result()


@pytest.mark.timeout(300)
def test_killed_at_random_nothing_is_lost_and_nothing_counts_twice(broker: Broker, topic: str, tmp_path: Path) -> None:
    chance = random.Random(int(os.environ.get("TENSORPLANE_SEED", "1")))
    broker.create(topic, _PARTITIONS)
    broker.produce(topic, map(str, range(_NUMBERS // 2)), _PARTITIONS)
    run = Run(broker, topic, tmp_path)
    for kill in range(_KILLS):
        # Half of the steps have records so far, so that a late kill meets a reader that waits.
        at = chance.randrange(kill * 200 // _KILLS, (kill + 1) * 200 // _KILLS, 5)
        with run.started() as processes:
            _until(processes[0], rf" step={max(at, 5)} ")
        # Whatever the group's progress says: the checkpoint decides.
        _mislead(broker, topic)
    broker.produce(topic, map(str, range(_NUMBERS // 2, _NUMBERS)), _PARTITIONS)
    with run.started() as processes:
        said = _until(processes[0], "lost=")
        assert processes[0].wait(30) == 0
    assert "resumed=True" in said
    assert "lost=0 twice=0" in said
    assert sum(_committed(broker, topic)) == _NUMBERS


def test_two_workers_share_the_topic_and_resume_as_one(broker: Broker, topic: str, tmp_path: Path) -> None:
    broker.create(topic, 4)
    broker.produce(topic, map(str, range(1200)), 4)
    run = Run(broker, topic, tmp_path, numbers=1200)
    with run.started(workers=2) as processes:
        _until(processes[0], " step=60 ")
    with run.started(workers=2) as processes:
        said = _until(processes[0], "lost=")
        assert [process.wait(30) for process in processes] == [0, 0]
    assert "resumed=True" in said
    assert "lost=0 twice=0" in said
