"""Batches from a Kafka topic that resume exactly at the record after the restored checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, TypeVar

import numpy as np
import tensorflow as tf
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tensorplane import topic_id
from tensorplane.data.order import share_of
from tensorplane.declared_streams import DeclaredStream
from tensorplane.errors import TensorplaneError, UsageError
from tensorplane.kafka_consumer import Brokers, BrokersLost, Throttle
from tensorplane.log import say
from tensorplane.topic_id import TopicIds

_POLL_SECONDS = 0.2
_ANSWER_SECONDS = 30.0
_LOOK_SECONDS = 5.0
"""Time for an answer while records are read."""
_RESTART_SECONDS = 300.0
"""How long a broker that restarts may take to answer. To fail earlier would cost a start of TensorFlow each time."""
_REMEDY = "start a new run (`attempt` in the job's settings), which begins at the group's offsets"
_DELETED = (
    "retention deleted unread records; reset the group's offsets, and if the run has a checkpoint, start a new run "
    "(`attempt` in the job's settings)"
)
_MOVING = {KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS}

_TOPIC_ID = "topic_id"
"""Of a position in a checkpoint."""

T = TypeVar("T")


class StreamError(TensorplaneError, RuntimeError):
    """The stream cannot be read without losing records, or not at all."""


@dataclass(frozen=True)
class Topic:
    """A topic, and the consumer group whose committed offsets show its reader's progress."""

    bootstrap: str
    name: str
    group: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    """More settings of librdkafka, such as `security.protocol` and `ssl.ca.location`."""

    @classmethod
    def from_environment(cls, stream: str, name: str | None = None) -> Topic:
        """A topic of a stream that the job's settings name: `streams: {events: {group: trainer}}`.

        The topic may be omitted if the group reads only one.
        """
        declared = DeclaredStream.of(stream)
        if declared.group is None:
            raise UsageError(f"stream {stream}: the job's settings name a producer; set group to read it")
        return cls(declared.bootstrap, declared.topic(name), declared.group, declared.settings)

    @contextmanager
    def consumer(self) -> Iterator[Consumer]:
        """A consumer that never commits automatically and never skips records."""
        consumer = Consumer(
            {
                **self.settings,
                "bootstrap.servers": self.bootstrap,
                "group.id": self.group,
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
                # Not the default of ten seconds, which each restart of a broker would cost.
                "reconnect.backoff.max.ms": 1000,
            }
        )
        try:
            yield consumer
        finally:
            consumer.close()

    def ids(self) -> TopicIds:
        """What asks Kafka for the topic's id."""
        return TopicIds(self.name, {**self.settings, "bootstrap.servers": self.bootstrap})

    def partitions(self, consumer: Consumer) -> list[int]:
        """The topic's partitions, as Kafka has them now."""
        found = _answer(lambda: consumer.list_topics(self.name, timeout=_ANSWER_SECONDS)).topics[self.name]
        if found.error or not found.partitions:
            raise StreamError(f"topic {self.name}: {found.error or 'it has no partitions'}")
        return sorted(found.partitions)


class Position(tf.Module):  # type: ignore[misc]  # TensorFlow has no types
    """The next record of each partition: a variable that is saved with the model, so that both are consistent.

    A run without a checkpoint begins at the group's committed offsets, or at `start` without any.
    Create it in the strategy's scope, give it to `Checkpointer`, and call `advance` in the training step.
    """

    def __init__(
        self, topic: Topic, *, start: Literal["earliest", "latest"] = "earliest", most_partitions: int = 128
    ) -> None:
        super().__init__(name="position")
        self.topic = topic
        # Before the offsets: if it is recreated meanwhile, they are refused.
        self._topic_id = _answer(topic.ids().now)
        # Zero for partitions that are added later, whose records must all be read.
        initial = np.zeros(most_partitions, np.int64)
        with topic.consumer() as consumer:
            partitions = topic.partitions(consumer)
            _refuse_too_many(topic, partitions, most_partitions)
            for partition, offset in _committed(topic, consumer, partitions).items():
                if offset is None:
                    first, end = _watermarks(consumer, topic, partition)
                    offset = first if start == "earliest" else end
                initial[partition] = offset
        self._there = frozenset(partitions)
        self.offsets = tf.Variable(initial, trainable=False, aggregation=tf.VariableAggregation.SUM, name="offsets")

    def advance(self, moved: tf.Tensor) -> None:
        """Counts a batch as trained on. Call it in the training step, where every replica adds its part."""
        self.offsets.assign_add(moved)

    def commit(self) -> None:
        """Commits the position to Kafka, so that the group's lag is visible. Only after a save. Raises StreamError if
        the topic was recreated.
        """
        offsets = [
            TopicPartition(self.topic.name, partition, offset)
            for partition, offset in enumerate(self.offsets.numpy().tolist())
            if partition in self._there
        ]
        try:
            self.identify(self.topic.ids().now())
            with self.topic.consumer() as consumer:
                consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            # The checkpoint has the position; training continues, and the next save commits.
            say(uncommitted=error.args[0].name())

    def identify(self, now: str | None) -> None:
        """Raises StreamError if the topic, whose id is this now, is another one than that of the offsets."""
        if topic_id.differ(self._topic_id, now):
            problem = topic_id.problem(self.topic.name, self._topic_id, now)
            raise StreamError(f"{problem}; {_REMEDY}")
        self._topic_id = self._topic_id or now

    # An attribute of this object, not one more in the checkpoint, so that checkpoints of earlier versions are complete.
    def _serialize_to_tensors(self) -> dict[str, tf.Tensor]:
        return {_TOPIC_ID: tf.constant(self._topic_id or "")}

    def _restore_from_tensors(self, restored: Mapping[str, tf.Tensor]) -> None:
        self._topic_id = restored[_TOPIC_ID].numpy().decode() or None


def batches(
    position: Position,
    strategy: tf.distribute.Strategy,
    decode: Callable[[tf.Tensor], Any],
    *,
    global_batch: int,
    count: int,
    stopping: Callable[[], bool] = lambda: False,
) -> Any:
    """The next `count` distributed batches: the result of `decode` for the records' values, and the advance.

    Workers share the partitions. A batch waits for its last record; `stopping` ends the wait and the data.
    """
    replicas = strategy.num_replicas_in_sync
    size = share_of(global_batch, replicas)
    offsets = position.offsets.numpy()
    with position.topic.consumer() as consumer:
        position.identify(_answer(position.topic.ids().now))
        begin = _begin(position.topic, consumer, offsets)

    def pipeline(context: tf.distribute.InputContext) -> tf.data.Dataset:
        workers, worker = context.num_input_pipelines, context.input_pipeline_id
        mine = sorted(begin)[worker::workers]
        if not mine:
            raise StreamError(
                f"topic {position.topic.name}: {len(begin)} partitions are too few for {workers} workers; "
                f"train with {len(begin)} workers or fewer, or add partitions"
            )
        begins = {partition: begin[partition] for partition in mine}
        reader = _Reader(position.topic, begins, offsets, stopping, position.identify)
        dataset = tf.data.Dataset.from_generator(
            lambda: reader.read(size, count * replicas // workers),
            output_signature=(tf.TensorSpec([size], tf.string), tf.TensorSpec(offsets.shape, tf.int64)),
        )
        return dataset.map(lambda values, moved: (decode(values), moved)).prefetch(2)

    return strategy.distribute_datasets_from_function(pipeline)


@dataclass(frozen=True)
class _Reader:
    """One worker's part of the topic."""

    topic: Topic
    begin: Mapping[int, int]
    """The first record to read of each of its partitions."""
    offsets: np.ndarray
    """The position at which reading starts."""
    stopping: Callable[[], bool]
    identify: Callable[[str | None], None]
    """Refuses the id of another topic."""

    def read(self, size: int, count: int) -> Iterator[tuple[list[bytes], np.ndarray]]:
        position = self.offsets.copy()
        with closing(self._records(position, size)) as records:
            for _ in range(count):
                values, moved = [], np.zeros_like(position)
                for message in islice(records, size):
                    values.append(message.value() or b"")
                    partition, after = int(message.partition() or 0), int(message.offset() or 0) + 1
                    # More than one if control records or compacted records lie in between.
                    moved[partition] += after - position[partition]
                    position[partition] = after
                if len(values) < size:
                    return
                yield values, moved

    def _records(self, position: np.ndarray, size: int) -> Generator[Message, None, None]:
        """Records from a position on, in which their reader counts each before it takes the next. `size`: so many at
        a time.
        """
        while True:
            with self.topic.consumer() as consumer:
                consumer.assign([TopicPartition(self.topic.name, each, int(position[each])) for each in self.begin])
                try:
                    yield from self._of(consumer, size)
                except BrokersLost:
                    continue
                return

    def _of(self, consumer: Consumer, size: int) -> Iterator[Message]:
        brokers, ids, look = Brokers(self.topic.name), self.topic.ids(), Throttle()
        while True:
            messages = consumer.consume(size, _POLL_SECONDS)
            if look.is_due():
                with suppress(KafkaException):  # `brokers` counts how long they do not answer
                    self.identify(ids.now(_LOOK_SECONDS))
            if not messages:
                if self.stopping():
                    return
                brokers.ask_now_and_then(consumer)
            for message in messages:
                error = message.error()
                if error and error.retriable():
                    continue
                if error:
                    raise _explained(self.topic, message.partition(), error)
                yield message


def _begin(topic: Topic, consumer: Consumer, offsets: np.ndarray) -> dict[int, int]:
    """The offset to start from in each partition. Records that retention has deleted are an error, not a gap."""
    begin = {}
    partitions = topic.partitions(consumer)
    _refuse_too_many(topic, partitions, len(offsets))
    for partition in partitions:
        first, end = _watermarks(consumer, topic, partition)
        wanted = int(offsets[partition])
        if not first <= wanted <= end:
            why = _DELETED if wanted < first else f"the topic was recreated, or lost its newest records; {_REMEDY}"
            where = f"topic {topic.name}, partition {partition}"
            raise StreamError(f"{where}: the next record is {wanted}, Kafka has {first} to {end}: {why}")
        begin[partition] = wanted
    return begin


def _refuse_too_many(topic: Topic, partitions: Sequence[int], most: int) -> None:
    if partitions[-1] >= most:
        raise StreamError(
            f"topic {topic.name}: {len(partitions)} partitions, but the position has room for {most}; "
            "set most_partitions in a new run"
        )


def _committed(topic: Topic, consumer: Consumer, partitions: Sequence[int]) -> dict[int, int | None]:
    asked = [TopicPartition(topic.name, partition) for partition in partitions]
    committed = _answer(lambda: consumer.committed(asked, timeout=_ANSWER_SECONDS))
    return {at.partition: at.offset if at.offset >= 0 else None for at in committed}


def _watermarks(consumer: Consumer, topic: Topic, partition: int) -> tuple[int, int]:
    """The first record that Kafka still has, and the one that comes next."""
    at = TopicPartition(topic.name, partition)
    first, end = _answer(lambda: consumer.get_watermark_offsets(at, timeout=_ANSWER_SECONDS))
    return first, end


def _answer(ask: Callable[[], T]) -> T:
    """Retries while partitions and groups move to other brokers, as they do when a broker restarts."""
    deadline = time.monotonic() + _RESTART_SECONDS
    waits = False
    while True:
        try:
            return ask()
        except KafkaException as error:
            passes = error.args[0].retriable() or error.args[0].code() in _MOVING
            if not passes or time.monotonic() > deadline:
                raise
            if not waits:
                say(waiting_for_broker=error.args[0].name())
            waits = True
            time.sleep(_POLL_SECONDS)


def _explained(topic: Topic, partition: int | None, error: KafkaError) -> StreamError:
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        why = "retention deleted unread records, or the topic was recreated; the next start of the job says which"
        return StreamError(f"topic {topic.name}, partition {partition}: {why} ({error.str()})")
    return StreamError(f"topic {topic.name}: {error.str()}")
