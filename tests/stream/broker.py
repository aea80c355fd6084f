"""A real Kafka broker for tests: one process that is broker and controller at once (KRaft), on this machine only."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from tensorplane.components.streams.brokers.embedded import deployment
from tensorplane.core.step import Step
from tensorplane.toolchain import kafka
from tests.support.ports import free_ports
from tests.support.waiting import PATIENT_SECONDS, eventually

# One small process that starts fast; its compiler's second tier pays only for servers that stay.
JAVA = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_DONE = {KafkaError.TOPIC_ALREADY_EXISTS, KafkaError.INVALID_PARTITIONS}
"""What a repeated request is answered that had been carried out."""
_PASSING = {
    KafkaError._TIMED_OUT,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.INVALID_REPLICATION_FACTOR,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR,
}
"""What a broker answers that has just started, or that had no processor for longer than its session."""


def done(ask: Callable[[], Mapping[Any, Any]]) -> list[Any]:
    """The answers to requests of an AdminClient."""
    return _answered(lambda: [future.result() for future in ask().values()])


def _answered(ask: Callable[[], list[Any]]) -> list[Any]:
    """The answers to requests, which are repeated while the broker is not ready for them."""

    def answers() -> tuple[list[Any]] | None:
        try:
            return (ask(),)
        except KafkaException as error:
            if error.args[0].code() in _DONE:
                return ([],)
            if error.args[0].code() in _PASSING:
                return None
            raise

    (found,) = eventually(answers) or ([],)
    return found


class Broker:
    """One broker with its data in `folder`. It can be killed and started again."""

    def __init__(self, jars: Path, folder: Path, session_seconds: int) -> None:
        """`session_seconds`: after so long without a heartbeat it may register anew, and does not lead until then."""
        self._jars, self._folder = jars, folder
        port, controller = free_ports(2)
        self.bootstrap = f"127.0.0.1:{port}"
        self._settings = folder / "server.properties"
        # Those of the embedded cluster's broker: what holds here holds there.
        told = deployment.properties(
            host="127.0.0.1", port=port, controller=controller, address=self.bootstrap, data=str(folder)
        )
        # A group does not wait for members beside its first: each test has one of its own.
        told += f"broker.session.timeout.ms={1000 * session_seconds}\ngroup.initial.rebalance.delay.ms=0\n"
        self._settings.write_text(told)
        storage = ["kafka.tools.StorageTool", "format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ", "--config"]
        subprocess.run(
            self._java(*storage, str(self._settings)), check=True, capture_output=True, timeout=PATIENT_SECONDS
        )
        self.start()

    def start(self) -> None:
        """Starts it, and returns when it answers."""
        log = self._folder / "log.txt"
        with log.open("w") as output:
            command = self._java("kafka.Kafka", str(self._settings))
            self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)

        def has_started() -> bool:
            assert self._process.poll() is None, log.read_text()[-2000:]
            return "Kafka Server started" in log.read_text()

        eventually(has_started, about=lambda: log.read_text()[-2000:])

    def kill(self) -> None:
        """Ends it as a power cut would; what it acknowledged is in its files."""
        self._process.kill()
        self._process.wait()

    def create(self, topic: str, partitions: int = 1) -> None:
        """A new topic, which the broker shows."""
        done(lambda: self._admin.create_topics([NewTopic(topic, partitions, 1)]))
        self._until_shown(topic, partitions)

    def recreate(self, topic: str) -> None:
        """Deletes a topic with its records, and makes a new one of its name."""
        done(lambda: self._admin.delete_topics([topic]))
        self._until_shown(topic, 0)
        self.create(topic)

    def grow(self, topic: str, partitions: int) -> None:
        """More partitions of a topic, which the broker shows."""
        done(lambda: self._admin.create_partitions([NewPartitions(topic, partitions)]))
        self._until_shown(topic, partitions)

    def _until_shown(self, topic: str, partitions: int) -> None:
        """Wait for what the controller has acknowledged: the broker, which clients ask, shows it a little later."""

        def shown() -> bool:
            # A topic that is not there yet has none.
            return len(self._admin.list_topics(topic, timeout=PATIENT_SECONDS).topics[topic].partitions) == partitions

        eventually(shown)

    def delete_before(self, topic: str, offset: int) -> None:
        """Deletes the first records of a topic of one partition, as retention does."""
        done(lambda: self._admin.delete_records([TopicPartition(topic, 0, offset)]))

    def committed(self, group: str, topic: str, partitions: int = 1) -> list[int]:
        """A group's offset in each partition; 0 where it has none."""
        # Not by an AdminClient: in librdkafka 2.16, one whose group's coordinator is not ready ends the process.
        asked = [TopicPartition(topic, each) for each in range(partitions)]
        with closing(Consumer({"bootstrap.servers": self.bootstrap, "group.id": group})) as consumer:
            return [max(at.offset, 0) for at in _answered(lambda: consumer.committed(asked, PATIENT_SECONDS))]

    def set_committed(self, group: str, topic: str, *offsets: int) -> None:
        """Sets a group's offset in each partition, as its own readers or somebody else may have done."""
        at = [TopicPartition(topic, partition, offset) for partition, offset in enumerate(offsets)]

        def is_known() -> bool:
            # Errors are told for each partition: a broker that has just begun may not know the group's place yet.
            (told,) = done(lambda: self._admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, at)]))
            return not any(one.error for one in told.topic_partitions) and (
                self.committed(group, topic, len(offsets)) == list(offsets)
            )

        eventually(is_known)

    @cached_property
    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap})

    def produce(self, topic: str, values: Iterable[str], partitions: int = 1, *, first: int = 0) -> None:
        """Records in turn over the partitions, acknowledged when this returns. `first`: number of the first one."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "linger.ms": 5})
        failed: list[object] = []

        def told(error: object, _: object) -> None:
            failed.extend([error] if error else [])

        for number, value in enumerate(values, first):
            producer.produce(topic, value.encode(), partition=number % partitions, on_delivery=told)
        assert producer.flush(PATIENT_SECONDS) == 0
        assert failed == []

    def transact(self, topic: str, *transactions: Iterable[str], aborts: Iterable[str] = ()) -> None:
        """Records in a transaction each, and last those of one that is aborted."""
        patient = {"transaction.timeout.ms": 600_000}  # more than a slow machine takes between begin and end
        producer = Producer({"bootstrap.servers": self.bootstrap, "transactional.id": topic, **patient})
        producer.init_transactions(PATIENT_SECONDS)
        for values, ends in [*((each, producer.commit_transaction) for each in transactions), (aborts, None)]:
            producer.begin_transaction()
            for value in values:
                producer.produce(topic, value.encode())
            # Sent, so that an aborted record is in the log.
            assert producer.flush(PATIENT_SECONDS) == 0
            (ends or producer.abort_transaction)(PATIENT_SECONDS)

    def _java(self, *words: str) -> list[str]:
        return [*JAVA, "-cp", f"{self._jars}/*", *words]


@contextmanager
def running(folder: Path, *, session_seconds: int = 60) -> Iterator[Broker]:
    """A broker with its data in this folder, until the end of the block."""
    folder.mkdir(exist_ok=True)
    started = Broker(kafka.obtain(Step("kafka")), folder, session_seconds)
    try:
        yield started
    finally:
        started.kill()
