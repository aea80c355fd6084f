"""Scores the records of a topic with a served model: `python3 -m tensorplane.score` in the pods of a scorer.

Each record gets one result, a record of the output topic with the key TOPIC-PARTITION-OFFSET. Offsets are committed
after all replicas have the results, so that a scorer that is killed scores its last records again, under the same keys.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tensorplane import kafka_consumer, metrics, topic_id
from tensorplane.declared_streams import DeclaredStream
from tensorplane.kafka_consumer import (
    ANSWER_SECONDS,
    POLL_SECONDS,
    RECONNECT,
    Brokers,
    BrokersLost,
    ReadingError,
    Throttle,
)
from tensorplane.log import say
from tensorplane.model_client import Result, Unavailable, results
from tensorplane.topic_id import TopicIds

INPUT, OUTPUT = "input", "output"
"""Names of the streams in the variable STREAMS."""
_GATHER_SECONDS = 0.01
"""Time that a record waits for others of its request."""
_SESSION_MILLISECONDS = 10_000
"""Time after which the other pods get the partitions of one that was killed."""
_BACKOFF_SECONDS = (0.1, 5.0)
_FLUSH_SECONDS = 1.0
_REMEDY = "retention deleted records before they were scored, or the topic was recreated; reset the group's offsets"


@dataclass
class Progress:
    """How far a pod is, in its log and for Prometheus: records with results since the start."""

    scored: int = 0
    refused: int = 0
    """Results with an error, among them."""
    _said: int = -1
    """Records with results at the last line."""
    _look: Throttle = field(default_factory=Throttle)

    def add(self, batch: Sequence[Result]) -> None:
        """Counts a batch."""
        refused = sum("error" in result for result in batch)
        self.scored, self.refused = self.scored + len(batch), self.refused + refused
        metrics.SCORED.add(len(batch))
        metrics.REFUSED.add(refused)

    def is_due(self) -> bool:
        """Whether the lag was last looked at some time ago."""
        return self._look.is_due()

    def report(self, lag: int | None) -> None:
        """Publishes the lag; prints one line if there is something new. `lag`: None if the brokers do not tell it."""
        if lag is not None:
            metrics.LAG.set(lag)
        if self.scored != self._said:
            self._said = self.scored
            say(scored=self.scored, refused=self.refused, lag="unknown" if lag is None else lag)


class Scorer:
    """One pod's part of a consumer group."""

    def __init__(self, environment: Mapping[str, str], stop: threading.Event) -> None:
        source, sink = DeclaredStream.of(INPUT, environment), DeclaredStream.of(OUTPUT, environment)
        self._url, self._batch = environment["PREDICT_URL"], int(environment["BATCH"])
        self._topic, self._sink = environment["INPUT_TOPIC"], environment["OUTPUT_TOPIC"]
        self._stop = stop
        self._progress = Progress()
        self._next: dict[int, int] = {}
        """The first offset without a result, by partition of this pod."""
        self._ends: dict[int, int] = {}
        """Where partitions have ended since the last commit."""
        self._topic_id: str | None = None
        """Of the topic that the pod reads, until it connects again."""
        self._streams = source, sink
        self._connect()

    def run(self) -> None:
        """Scores until the stop. Raises ReadingError."""
        try:
            while not self._stop.is_set():
                try:
                    if messages := self._read():
                        self._score(messages)
                    elif self._ends:
                        self._pass()
                    self._report_now_and_then()
                except BrokersLost:
                    self._consumer.close()
                    self._connect()
            self._progress.report(self._lag())
        finally:
            self._consumer.close()

    def _connect(self) -> None:
        """Joins the group. After a lost connection, records whose offsets are not committed are scored again."""
        source, sink = self._streams
        self._next, self._ends = {}, {}
        self._topic_id, self._ids = None, TopicIds(self._topic, source.client())
        # `_assigned` sets where a group without offsets starts.
        self._consumer = kafka_consumer.consumer(source, {"session.timeout.ms": _SESSION_MILLISECONDS})
        # Results are sent until the brokers have them: a message without a time limit is never given up.
        self._producer = Producer(
            {**sink.client(), **RECONNECT, "enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 0}
        )
        self._readable, self._writable = Brokers(self._topic), Brokers(self._sink)
        self._consumer.subscribe([self._topic], on_assign=self._assigned, on_revoke=self._revoked)

    def _read(self) -> list[Message]:
        """The next records: those that are there as soon as there is one."""
        first = self._consumer.poll(POLL_SECONDS)
        if first is None:
            return []
        more = self._consumer.consume(self._batch - 1, _GATHER_SECONDS) if self._batch > 1 else []
        messages = (first, *more)
        ends = {
            message.partition() or 0: end for message in messages if (end := kafka_consumer.end_of(message)) is not None
        }
        self._ends.update(ends)
        if sum(bool(message.error()) for message in messages) > len(ends):  # as of a topic that was deleted
            with suppress(KafkaException):
                self._identify(self._ids.now())
        return [message for message in messages if kafka_consumer.is_record(message, _REMEDY)]

    def _score(self, messages: Sequence[Message]) -> None:
        """Results, then offsets. If the stop comes first, neither: the group's next pod scores the records."""
        # A topic never gets a former id again, so what is read is of the topic that has the id after that. The brokers
        # answer while the model server does.
        asked = self._ids.ask()
        scored = self._ask([message.value() for message in messages])
        if scored is None or not self._write(messages, scored):
            return
        after: dict[int, int] = {}
        for message in messages:
            partition, offset = message.partition() or 0, message.offset() or 0
            after[partition] = max(after.get(partition, 0), offset + 1)
        self._commit({**after, **self._passed(after)}, asked)
        self._progress.add(scored)

    def _pass(self) -> None:
        """Commits the ends of partitions without new records, which are behind those that no reader gets."""
        if passed := self._passed(self._next):
            self._commit(passed, self._ids.ask())
        self._ends.clear()

    def _passed(self, after: Mapping[int, int]) -> dict[int, int]:
        """The ends of the pod's partitions that are behind these offsets, or behind its last ones."""
        known = {**self._next, **after}
        return {partition: end for partition, end in self._ends.items() if end > known.get(partition, end)}

    def _commit(self, after: Mapping[int, int], asked: Callable[[], str | None]) -> None:
        """Commits offsets. `asked`: gives the topic's id, which was asked for after its records were read."""
        try:
            self._identify(asked())
        except KafkaException as error:
            say(uncommitted=error.args[0].name())
        else:
            kafka_consumer.commit(self._consumer, self._topic, after)
        self._next.update((partition, offset) for partition, offset in after.items() if partition in self._next)
        self._ends.clear()

    def _ask(self, values: Sequence[bytes | None]) -> list[Result] | None:
        """The results; None if the stop came while the server was unavailable."""
        pause, most = _BACKOFF_SECONDS
        while True:
            try:
                return results(self._url, values)
            except Unavailable as error:
                say(waiting=f"{self._url}: {error}")
            if self._stop.wait(pause):
                return None
            self._report_now_and_then()
            pause = min(2 * pause, most)

    def _write(self, messages: Sequence[Message], scored: Sequence[Result]) -> bool:
        """Writes the results. Returns whether the brokers have all of them; not so only if the stop came first."""
        failed: list[KafkaError] = []

        def written(error: KafkaError | None, _: Message) -> None:
            if error:
                failed.append(error)

        for message, result in zip(messages, scored):  # noqa: B905  # `strict` is of Python 3.10
            key = f"{message.topic()}-{message.partition()}-{message.offset()}"
            value = json.dumps(result, separators=(",", ":")).encode()
            try:
                self._producer.produce(self._sink, value, key, on_delivery=written)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                    raise
                small = json.dumps({"error": f"the result has {len(value)} bytes, too many for Kafka"}).encode()
                self._producer.produce(self._sink, small, key, on_delivery=written)
        while self._producer.flush(_FLUSH_SECONDS):
            if self._stop.is_set():
                return False
            self._writable.ask_now_and_then(self._producer)
        self._writable.have_answered()
        if failed:
            raise ReadingError(f"topic {self._sink}: {failed[0].str()}")
        return True

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Starts each partition at the group's offset; without one, at its first record."""
        while not self._stop.is_set():
            try:
                # Before the offsets: they are of this topic, or of a later one, which the next commit refuses.
                self._identify(self._ids.now())
                committed = consumer.committed(partitions, timeout=ANSWER_SECONDS)
                starts = [self._start(consumer, at) for at in committed]
            except KafkaException as error:
                self._readable.have_failed(error)
                self._stop.wait(POLL_SECONDS)
                continue
            self._readable.have_answered()
            say(partitions=",".join(str(at.partition) for at in starts) or "none")
            consumer.assign(starts)
            self._next = {at.partition: at.offset for at in starts}
            return

    def _identify(self, now: str | None) -> None:
        """Raises ReadingError if the topic is another one than that which the pod reads."""
        if topic_id.differ(self._topic_id, now):
            # Kafka has deleted the group's offsets with the topic.
            remedy = "the next start of the pod begins with the first record that has no result"
            raise ReadingError(f"{topic_id.problem(self._topic, self._topic_id, now)}; {remedy}")
        self._topic_id = self._topic_id or now

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._next, self._ends = {}, {}

    def _start(self, consumer: Consumer, at: TopicPartition) -> TopicPartition:
        if at.error:
            raise KafkaException(at.error)
        if at.offset >= 0:
            return at
        first, _ = consumer.get_watermark_offsets(at, timeout=ANSWER_SECONDS)
        return TopicPartition(at.topic, at.partition, first)

    def _report_now_and_then(self) -> None:
        self._readable.ask_now_and_then(self._consumer)
        if self._progress.is_due():
            self._progress.report(self._lag())

    def _lag(self) -> int | None:
        """Records without a result in the pod's partitions; None if the brokers do not answer."""
        return kafka_consumer.lag(self._consumer, self._topic, self._next)


def main() -> int:
    """Returns the exit code: 0 after SIGTERM, 1 with a line if scoring cannot continue."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    metrics.serve(metrics=metrics.SCORING)
    try:
        Scorer(os.environ, stop).run()
    except ReadingError as error:
        print(f"tensorplane: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
