"""Pods of a scorer as processes, and the results in its output topic."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from tests.stream.broker import Broker
from tests.stream.processes import Processes
from tests.support.waiting import PATIENT_SECONDS


class Pods(Processes):
    """Processes that run the library's program as the scorer's container does."""

    def __init__(self, broker: Broker, topic: str, url: str, log: Path, *, batch: int = 64) -> None:
        # A pod that was killed is a member of its group for a while longer: no other test has the same.
        self.group, self.output = f"{topic}-scorer", f"{topic}-scores"
        environment = {
            "STREAMS": json.dumps(
                {
                    "input": {"bootstrap": broker.bootstrap, "topics": [topic], "group": self.group, "settings": {}},
                    "output": {"bootstrap": broker.bootstrap, "topics": [self.output], "settings": {}},
                }
            ),
            "INPUT_TOPIC": topic,
            "OUTPUT_TOPIC": self.output,
            "PREDICT_URL": url,
            "BATCH": str(batch),
        }
        super().__init__("tensorplane.score", environment, log)

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
        partitions = self._consumer.list_topics(topic, timeout=PATIENT_SECONDS).topics[topic].partitions
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
