"""Pods of a scorer as processes, and the results in its output topic."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.runtime.launching import LIBRARY
from tests.stream.broker import Broker
from tests.support.waiting import PATIENT_SECONDS

GROUP = "scorer"


class Pods:
    """Processes that run the library's program as the scorer's container does."""

    def __init__(self, broker: Broker, topic: str, url: str, log: Path, *, batch: int = 64) -> None:
        self.output = f"{topic}-scores"
        self._log = log
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(LIBRARY),
            "STREAMS": json.dumps(
                {
                    "input": {"bootstrap": broker.bootstrap, "topics": [topic], "group": GROUP, "settings": {}},
                    "output": {"bootstrap": broker.bootstrap, "topics": [self.output], "settings": {}},
                }
            ),
            "INPUT_TOPIC": topic,
            "OUTPUT_TOPIC": self.output,
            "PREDICT_URL": url,
            "BATCH": str(batch),
        }

    @contextmanager
    def running(self, count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
        """As many processes. A test may replace those that it kills; all are killed at the end."""
        processes = [self.start() for _ in range(count)]
        try:
            yield processes
        finally:
            for process in processes:
                process.kill()
                process.wait()

    def start(self) -> subprocess.Popen[bytes]:
        """One more."""
        with self._log.open("ab") as output:
            command = [sys.executable, "-m", "tensorplane.score"]
            return subprocess.Popen(command, env=self._environment, stdout=output, stderr=subprocess.STDOUT)

    def said(self) -> str:
        """The end of what they said."""
        return self._log.read_text()[-3000:]

    @staticmethod
    def stop(processes: list[subprocess.Popen[bytes]]) -> list[int]:
        """Exit codes after SIGTERM."""
        for process in processes:
            process.terminate()
        return [process.wait(PATIENT_SECONDS) for process in processes]


class Results:
    """A reader of the output topic, as the guide describes it: the newest result of each key."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self._consumer = Consumer(
            {"bootstrap.servers": broker.bootstrap, "group.id": "results", "enable.auto.commit": False}
        )
        partitions = self._consumer.list_topics(topic, timeout=30).topics[topic].partitions
        self._consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        self.read = 0
        """Records so far, with those that came twice."""
        self._newest: dict[str, Any] = {}

    def newest(self) -> Mapping[str, Any]:
        """The results so far, by key."""
        for message in self._consumer.consume(1000, 1.0):
            if not message.error():
                self.read += 1
                self._newest[(message.key() or b"").decode()] = json.loads(message.value() or b"null")
        return self._newest

    def close(self) -> None:
        """No more."""
        self._consumer.close()


def committed(broker: Broker, topic: str, partitions: int) -> int:
    """Sum of the group's offsets."""
    asked = [TopicPartition(topic, partition) for partition in range(partitions)]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    found = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP, asked)])[GROUP].result()
    return sum(max(at.offset, 0) for at in found.topic_partitions)
