"""A mirror copies topics and groups to another Kafka, in the words of the object that a stream comes to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from components.streams.brokers.strimzi.mirror_maker import mirror_maker_spec
from components.streams.mirror import MirrorArgs
from embedded.step import Step
from embedded.toolchain import kafka
from tests.stream import broker as broker_process
from tests.stream import mirror_maker
from tests.stream.broker import Broker
from tests.support.waiting import eventually

_GROUP = "readers"
_NUMBERS = 60


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Broker]:
    """Another Kafka."""
    with broker_process.running(tmp_path / "other") as one:
        yield one


def _values(broker: Broker, topic: str, partition: int) -> list[str]:
    """What a partition holds now."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "looking", "enable.auto.commit": False})
    try:
        at = TopicPartition(topic, partition)
        try:
            first, end = consumer.get_watermark_offsets(at, timeout=10)
        except KafkaException:
            return []
        consumer.assign([TopicPartition(topic, partition, first)])
        found = consumer.consume(end - first, 10) if end > first else []
        return [(message.value() or b"").decode() for message in found]
    finally:
        consumer.close()


def _admin(broker: Broker) -> AdminClient:
    """A client for many looks."""
    return AdminClient({"bootstrap.servers": broker.bootstrap})


def _progress(admin: AdminClient, topic: str, partitions: int) -> list[int]:
    asked = [TopicPartition(topic, partition) for partition in range(partitions)]
    told = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(_GROUP, asked)])[_GROUP].result()
    return [at.offset for at in told.topic_partitions]


def _commit(admin: AdminClient, topic: str, *offsets: int) -> None:
    at = [TopicPartition(topic, partition, offset) for partition, offset in enumerate(offsets)]

    def is_known() -> bool:
        # Errors are told for each partition: a broker that has just begun may not know the group's place yet.
        told = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(_GROUP, at)])[_GROUP].result()
        return not any(one.error for one in told.topic_partitions) and _progress(admin, topic, 2) == list(offsets)

    eventually(is_known)


def test_records_and_progress_arrive_under_their_own_names(
    broker: Broker, other: Broker, topic: str, tmp_path: Path
) -> None:
    broker.create(topic, 2)
    broker.produce(topic, map(str, range(_NUMBERS)), 2)
    _commit(_admin(broker), topic, 30, 12)
    args = MirrorArgs.model_validate({"to": {"bootstrap": other.bootstrap, "tls": False}})
    source = {"alias": "source", "bootstrapServers": broker.bootstrap}
    spec = mirror_maker_spec("events", args, source, [topic], [_GROUP])
    # Every minute is what people get at most.
    checkpoints = spec["mirrors"][0]["checkpointConnector"]["config"]
    for interval in ("sync.group.offsets", "emit.checkpoints", "refresh.groups"):
        assert checkpoints[f"{interval}.interval.seconds"] == 60
        checkpoints[f"{interval}.interval.seconds"] = 1
    with mirror_maker.running(kafka.obtain(Step("kafka"), kafka.MIRROR_MAKER), tmp_path, spec) as log:
        wanted = [[str(number) for number in range(_NUMBERS) if number % 2 == partition] for partition in range(2)]

        def says() -> str:
            return log.read_text()[-3000:]

        eventually(lambda: [_values(other, topic, partition) for partition in range(2)] == wanted, about=says)
        broker.produce(topic, ["late"])
        eventually(lambda: _values(other, topic, 0) == [*wanted[0], "late"], about=says)
        there_now = _admin(other)
        eventually(lambda: min(_progress(there_now, topic, 2)) >= 0, about=says)
        # Never ahead of what was read: a reader that fails over reads again, and skips nothing.
        assert all(there <= here for there, here in zip(_progress(there_now, topic, 2), (30, 12), strict=True))
