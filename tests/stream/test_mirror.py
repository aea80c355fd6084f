"""A mirror copies topics and groups to another Kafka, in the words of the object that a stream comes to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from tensorplane.components.streams.base_settings import MirrorArgs
from tensorplane.components.streams.brokers.strimzi.mirror_maker import mirror_maker_spec
from tensorplane.core.step import Step
from tensorplane.toolchain import kafka
from tests.stream import broker as broker_process
from tests.stream import mirror_maker
from tests.stream.broker import Broker
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("a second broker and MirrorMaker 2, whose jars are fetched for it alone")
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


def test_records_and_progress_arrive_under_their_own_names(
    broker: Broker, other: Broker, topic: str, tmp_path: Path
) -> None:
    broker.create(topic, 2)
    broker.produce(topic, map(str, range(_NUMBERS)), 2)
    group = f"{topic}-readers"
    broker.set_committed(group, topic, 30, 12)
    args = MirrorArgs.model_validate({"to": {"bootstrap": other.bootstrap, "tls": False}})
    source = {"alias": "source", "bootstrapServers": broker.bootstrap}
    spec = mirror_maker_spec("events", args, source, [topic], [group])
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
        eventually(lambda: min(other.committed(group, topic, 2)) > 0, about=says)
        # Never ahead of what was read: a reader that fails over reads again, and skips nothing.
        assert all(there <= here for there, here in zip(other.committed(group, topic, 2), (30, 12), strict=True))
