"""A reader that is killed and started again: no record is lost, none counts twice in the model."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.runtime.launching import PROJECT
from tests.stream.broker import Broker

_NUMBERS = 4000
_PARTITIONS = 3
_KILLS = int(os.environ.get("TENSORPLANE_KILLS", "2"))


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
    def started(self) -> Iterator[subprocess.Popen[str]]:
        program = [sys.executable, str(Path(__file__).with_name("program.py"))]
        process = subprocess.Popen(
            program, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        try:
            yield process
        finally:
            process.kill()
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
        with run.started() as process:
            _until(process, rf" step={max(at, 5)} ")
            process.send_signal(signal.SIGKILL)
            process.wait()
        # Whatever the group's progress says: the checkpoint decides.
        _mislead(broker, topic)
    broker.produce(topic, map(str, range(_NUMBERS // 2, _NUMBERS)), _PARTITIONS)
    with run.started() as process:
        said = _until(process, "lost=")
        assert process.wait(30) == 0
    assert "resumed=True" in said
    assert "lost=0 twice=0" in said
    assert sum(_committed(broker, topic)) == _NUMBERS
