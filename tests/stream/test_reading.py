"""What the reader promises, in one process: where it begins, whose partitions it reads, what it refuses."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf
from confluent_kafka import Producer

from tensorplane import stream
from tensorplane.kafka_consumer import Throttle
from tensorplane.stream import Position, StreamError, Topic, batches
from tests.stream.broker import Broker
from tests.support.waiting import PATIENT_SECONDS

# Before TensorFlow's first use, which settles its devices: two replicas are to be had without a GPU this way.
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)


@pytest.fixture
def here(broker: Broker, topic: str) -> Topic:
    """The test's topic, as its reader names it."""
    return Topic(broker.bootstrap, topic, f"{topic}-readers")


def _numbers(
    position: Position,
    count: int,
    *,
    batch: int = 5,
    advance: bool = True,
    strategy: Any = None,
    stop_after: float = math.inf,
) -> list[int]:
    """What `count` batches hold; each is trained on, as far as `advance` goes. `stop_after`: so many numbers."""
    read: list[int] = []
    strategy = strategy or tf.distribute.get_strategy()

    def stopping() -> bool:
        return len(read) >= stop_after

    data = batches(position, strategy, tf.strings.to_number, global_batch=batch, count=count, stopping=stopping)
    for values, moved in data:
        read += [int(value) for value in values.numpy()]
        if advance:
            position.advance(moved)
    return read


def _worker(index: int, workers: int) -> Any:
    """A strategy that shows one worker's part."""
    context = tf.distribute.InputContext(workers, index, workers)
    return SimpleNamespace(
        num_replicas_in_sync=workers, distribute_datasets_from_function=lambda pipeline: pipeline(context)
    )


def test_a_new_run_begins_at_what_the_group_committed(broker: Broker, here: Topic) -> None:
    broker.create(here.name)
    broker.produce(here.name, map(str, range(30)))
    first = Position(here)
    assert _numbers(first, 2) == list(range(10))
    first.commit()
    assert _numbers(first, 1) == list(range(10, 15)), "read, but not told to Kafka"
    assert _numbers(Position(here), 4) == list(range(10, 30))


def test_what_was_not_saved_is_read_again_whatever_the_group_committed(
    broker: Broker, here: Topic, tmp_path: Path
) -> None:
    broker.create(here.name)
    broker.produce(here.name, map(str, range(30)))
    first = Position(here)
    assert _numbers(first, 2) == list(range(10))
    saved = tf.train.Checkpoint(position=first).save(str(tmp_path / "checkpoint"))
    assert _numbers(first, 1) == list(range(10, 15)), "read, and lost with its process"
    for misled in (0, 30):
        broker.set_committed(here.group, here.name, misled)
        again = Position(here)
        tf.train.Checkpoint(position=again).restore(saved).assert_consumed()
        assert _numbers(again, 4) == list(range(10, 30))


def test_a_new_group_begins_where_it_is_told_to(broker: Broker, here: Topic) -> None:
    broker.create(here.name)
    broker.produce(here.name, map(str, range(10)))
    earliest, latest = Position(here, start="earliest"), Position(here, start="latest")
    broker.produce(here.name, map(str, range(10, 20)))
    assert _numbers(earliest, 4) == list(range(20))
    assert _numbers(latest, 2) == list(range(10, 20))


def test_workers_share_the_partitions_and_their_moves_add_up(broker: Broker, here: Topic) -> None:
    broker.create(here.name, 3)
    broker.produce(here.name, map(str, range(60)), 3)
    position = Position(here)
    parts = [_numbers(position, count, batch=10, strategy=_worker(index, 2)) for index, count in ((0, 8), (1, 4))]
    assert sorted(parts[0]) == [number for number in range(60) if number % 3 != 1]
    assert parts[1] == [number for number in range(60) if number % 3 == 1]
    assert position.offsets.numpy()[:4].tolist() == [20, 20, 20, 0]


def test_more_workers_than_partitions_are_refused(broker: Broker, here: Topic) -> None:
    broker.create(here.name)
    broker.produce(here.name, ["1"])
    with pytest.raises(StreamError, match="1 partitions are too few for 2 workers"):
        _numbers(Position(here), 1, batch=2, strategy=_worker(1, 2))


def test_replicas_of_one_worker_add_up(broker: Broker, here: Topic) -> None:
    broker.create(here.name, 2)
    broker.produce(here.name, map(str, range(40)), 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        position = Position(here)

    def step(values: tf.Tensor, moved: tf.Tensor) -> tf.Tensor:
        position.advance(moved)
        return values

    read: list[int] = []
    for batch in batches(position, strategy, tf.strings.to_number, global_batch=10, count=4):
        for values in strategy.experimental_local_results(strategy.run(step, args=batch)):
            read += [int(value) for value in values.numpy()]
    assert sorted(read) == list(range(40))
    assert position.offsets.numpy()[:2].tolist() == [20, 20]


def test_what_retention_took_is_an_error_and_no_gap(broker: Broker, here: Topic) -> None:
    broker.create(here.name)
    broker.produce(here.name, map(str, range(30)))
    position, unread = Position(here), Position(here)
    assert len(_numbers(position, 2)) == 10
    broker.delete_before(here.name, 20)
    with pytest.raises(StreamError, match="the next record is 10, Kafka has 20 to 30: retention deleted"):
        _numbers(position, 1)
    with pytest.raises(StreamError, match="the next record is 0, Kafka has 20 to 30: retention deleted"):
        _numbers(unread, 1)


def _saved(position: Position, folder: Path) -> str:
    return str(tf.train.Checkpoint(position=position).save(str(folder / "checkpoint")))


def _restored(here: Topic, saved: str) -> Position:
    position = Position(here)
    tf.train.Checkpoint(position=position).restore(saved).assert_consumed()
    return position


@pytest.mark.parametrize("records", [3, 30])
def test_a_recreated_topic_is_refused_until_a_new_run(
    broker: Broker, here: Topic, tmp_path: Path, records: int
) -> None:
    broker.create(here.name)
    broker.produce(here.name, map(str, range(30)))
    position = Position(here)
    assert _numbers(position, 2) == list(range(10))
    saved = _saved(position, tmp_path)
    broker.recreate(here.name)
    broker.produce(here.name, map(str, range(100, 100 + records)))
    for late in (position, _restored(here, saved)):
        with pytest.raises(StreamError, match=rf"topic {here.name}: was recreated, .*start a new run \(`attempt` in"):
            _numbers(late, 1)
        with pytest.raises(StreamError, match="was recreated"):
            late.commit()
    assert broker.committed(here.group, here.name) == [0]
    assert _numbers(Position(here), 1, batch=3) == [100, 101, 102]


def test_a_topic_that_is_recreated_while_it_is_read_ends_the_data(
    broker: Broker, here: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "Throttle", functools.partial(Throttle, 0.0))
    broker.create(here.name)
    broker.produce(here.name, map(str, range(10)))
    position = Position(here)
    reader = stream._Reader(here, {0: 0}, position.offsets.numpy(), lambda: False, position.identify)
    records = reader.read(5, 100)
    assert [next(records)[0] for _ in range(2)] == [[b"0", b"1", b"2", b"3", b"4"], [b"5", b"6", b"7", b"8", b"9"]]
    broker.recreate(here.name)
    broker.produce(here.name, map(str, range(100, 130)))
    with pytest.raises(StreamError, match="was recreated"):
        next(records)


def test_a_checkpoint_of_an_earlier_version_gets_the_id_of_the_topic(
    broker: Broker, here: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create(here.name)
    broker.produce(here.name, map(str, range(30)))
    position = Position(here)
    assert _numbers(position, 2) == list(range(10))
    with monkeypatch.context() as earlier:
        earlier.delattr(Position, "_serialize_to_tensors")
        earlier.delattr(Position, "_restore_from_tensors")
        saved = _saved(position, tmp_path)
    assert not any("topic_id" in name for name, _ in tf.train.list_variables(saved))
    position = _restored(here, saved)
    assert _numbers(position, 1) == list(range(10, 15))
    saved = _saved(position, tmp_path)
    broker.recreate(here.name)
    broker.produce(here.name, map(str, range(30)))
    with pytest.raises(StreamError, match="was recreated"):
        _numbers(_restored(here, saved), 1)


def test_partitions_that_are_added_are_read_from_their_first_record(broker: Broker, here: Topic) -> None:
    broker.create(here.name)
    broker.produce(here.name, ["0"] * 5)
    position = Position(here, start="latest")
    broker.grow(here.name, 2)
    broker.produce(here.name, map(str, range(10)), 2)
    assert sorted(_numbers(position, 2)) == list(range(10))
    with pytest.raises(StreamError, match="2 partitions, but the position has room for 1"):
        Position(here, most_partitions=1)


def test_records_of_transactions_that_did_not_end_well_are_not_seen(broker: Broker, here: Topic) -> None:
    broker.create(here.name)
    patient = {"transaction.timeout.ms": 600_000}  # more than a slow machine takes between begin and end
    producer = Producer(
        {"bootstrap.servers": here.bootstrap, "transactional.id": here.name, "compression.type": "zstd", **patient}
    )
    producer.init_transactions(PATIENT_SECONDS)
    for first, commits in ((0, True), (5, False), (10, True)):
        producer.begin_transaction()
        for number in range(first, first + 5):
            producer.produce(here.name, str(number).encode())
        # Sent, so that an aborted record is in the log.
        assert producer.flush(PATIENT_SECONDS) == 0
        (producer.commit_transaction if commits else producer.abort_transaction)(PATIENT_SECONDS)
    position = Position(here)
    assert _numbers(position, 1) == list(range(5))
    assert _numbers(position, 1) == list(range(10, 15))
    # Fifteen numbers and, before the last five, the marks of two transactions.
    assert position.offsets.numpy()[0] == 17


def test_where_no_record_comes_a_request_to_stop_ends_the_data(broker: Broker, here: Topic) -> None:
    broker.create(here.name)
    broker.produce(here.name, map(str, range(12)))
    position = Position(here)
    assert _numbers(position, 100, stop_after=10) == list(range(10))
    assert position.offsets.numpy()[0] == 10, "what did not fill a batch is read again"


def test_an_unknown_topic_is_named(here: Topic) -> None:
    with pytest.raises(StreamError, match=here.name):
        Position(here)


@pytest.mark.nightly("a broker of its own, killed; told by test_recorder too")
def test_a_broker_that_is_killed_and_comes_back_loses_nothing(own_broker: Broker, topic: str) -> None:
    broker, here = own_broker, Topic(own_broker.bootstrap, topic, "readers")
    broker.create(here.name)
    broker.produce(here.name, map(str, range(10)))
    position = Position(here)

    def reading() -> Iterator[Sequence[int]]:
        data = batches(position, tf.distribute.get_strategy(), tf.strings.to_number, global_batch=5, count=4)
        for values, _ in data:
            yield [int(value) for value in values.numpy()]

    reader = reading()
    assert next(reader) == list(range(5))
    broker.kill()
    broker.start()
    broker.produce(here.name, map(str, range(10, 20)))
    assert [number for batch in reader for number in batch] == list(range(5, 20))
