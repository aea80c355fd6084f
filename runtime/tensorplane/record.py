"""Makes versions of a dataset of a topic's records: `python3 -m tensorplane.record` in the pod of a recorder.

Each window of records is one commit, which also has the offsets after them. A recorder that is killed goes on from
those of the newest commit, so each record is in the dataset exactly once. The group's offsets in Kafka follow, for its
lag.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TypeVar

from confluent_kafka import KafkaException, Message, TopicPartition

from tensorplane import kafka_consumer, metrics, record_position, topic_id
from tensorplane.datasets import Commit, Dataset, Note, Refused, requests
from tensorplane.datasets.errors import permanent_errors_refused
from tensorplane.declared_streams import DeclaredStream
from tensorplane.kafka_consumer import ANSWER_SECONDS, POLL_SECONDS, Brokers, BrokersLost, ReadingError, Throttle
from tensorplane.log import say
from tensorplane.record_position import Moved, Position, Source
from tensorplane.record_window import Limits, Window
from tensorplane.topic_id import TopicIds

INPUT = "input"
"""Name of the stream in the variable STREAMS."""
_RECORDS_PER_CALL = 100
_FETCHED_KIB = 16 * 1024
"""Records that the client reads ahead, in memory."""
_PARTITIONS_SECONDS = 30.0
"""Time after which the topic is asked for new partitions."""
_DELETED = "retention deleted records before they were recorded"
_GAP = f"{_DELETED}, or the topic was recreated; the next start of the pod says which"

T = TypeVar("T")


class Recorder:
    """The only reader of its topic in its group."""

    def __init__(self, environment: Mapping[str, str], stop: threading.Event) -> None:
        asked = json.loads(environment["RECORDER"])
        stream = DeclaredStream.of(INPUT, environment)
        self._name, self._topic, self._branch = asked["name"], asked["topic"], asked["branch"]
        self._source = Source(asked["stream"], self._topic, stream.group or "")
        self._limits, self._layout, self._skips = Limits(**asked["window"]), asked["layout"], asked["lost"] == "skip"
        self._dataset, self._rules = Dataset(asked["root"]), asked["rules"]
        self._stop, self._stream = stop, stream
        self._connect()
        self._position = Position(None, {})
        self._topic_id: str | None = None
        """Of the topic whose offsets these are; None if it is not known."""
        self._from: dict[int, int] = {}
        """The first record of each partition that is in no commit."""
        self._ends: dict[int, int] = {}
        """Where partitions ended last, for the lag."""
        self._skipped: dict[int, int] = {}
        """Records that retention had deleted, by partition, until a commit says so."""
        self._waiting: deque[Message] = deque()
        """Records that were read and are in no window yet."""
        self._partitions, self._look = Throttle(_PARTITIONS_SECONDS), Throttle()

    def refused(self) -> AbstractContextManager[None]:
        """Refuses what no repetition changes, such as a full volume, in one line."""
        root = self._dataset.store.root
        name = self._rules.get("dataset", root.name)
        return permanent_errors_refused(root, what=f"{self._name}: a window of {self._topic} for {name}", dataset=name)

    def run(self) -> None:
        """Records until the stop. Raises ReadingError, Refused or OSError."""
        begun = False
        try:
            while not self._stop.is_set():
                try:
                    if not begun:
                        self._begin()
                    begun = self._record()
                except BrokersLost:
                    self._consumer.close()
                    self._connect()
                    begun = False
        finally:
            self._consumer.close()

    def _connect(self) -> None:
        self._consumer = kafka_consumer.consumer(self._stream, {"queued.max.messages.kbytes": _FETCHED_KIB})
        self._brokers, self._ids = Brokers(self._topic), TopicIds(self._topic, self._stream.client())

    def _record(self) -> bool:
        """Records a window. Returns False if another recorder has committed meanwhile."""
        window = Window(self._limits)
        self._fill(window)
        return not window.is_over or self._commit(window)

    def _begin(self) -> None:
        """Go on from the newest commit."""
        self._dataset.store.create()
        self._position = record_position.of(self._dataset, self._branch, self._source)
        self._topic_id = self._position.topic_id
        self._waiting.clear()
        self._skipped.clear()
        self._from, self._ends = {}, {}
        self._consumer.unassign()
        self._add_partitions()

    def _fill(self, window: Window) -> None:
        """Reads until the window is over or the stop comes."""
        while not window.is_over and not self._stop.is_set():
            if self._partitions.is_due():
                self._add_partitions()
            if not self._waiting:
                wait = min(POLL_SECONDS, window.seconds_left)
                self._waiting.extend(self._consumer.consume(min(_RECORDS_PER_CALL, window.free_records), wait))
            while self._waiting and not window.is_over:
                message = self._waiting.popleft()
                if (end := kafka_consumer.end_of(message)) is not None:
                    self._pass(message.partition() or 0, end, window)
                elif message.error():  # as of a topic that was deleted
                    self._answer(self._identify)
                if kafka_consumer.is_record(message, _GAP):
                    window.add(message.partition() or 0, message.offset() or 0, message.value())
            self._brokers.ask_now_and_then(self._consumer)
            self._report_now_and_then(window)

    def _commit(self, window: Window) -> bool:
        """Commits a window. Returns False if another recorder has committed meanwhile, or the stop came first."""
        # A topic never gets a former id again, so what was read until now is of the topic that has the id now.
        if not self._answer(self._identify):
            return False
        end = {**self._from, **window.after}
        about = record_position.provenance(self._source, self._topic_id, self._from, end, window.records, self._skipped)

        def check(before: Commit | None) -> None:
            record_position.check_unchanged(dataset, self._branch, self._source, self._position, before)
            record_position.check_unwritten(dataset, self._branch, kept, before)

        try:
            with self._dataset.attempt() as dataset:
                kept = {path: dataset.keep(io.BytesIO(content)) for path, content in window.files(self._layout)}
                made = dataset.put(
                    kept,
                    branch=self._branch,
                    note=Note(f"{window.records:,} records of {self._topic}", self._name, about),
                    after=check,
                )
        except Moved as error:
            say(moved=str(error))
            return False
        self._position = Position(made.id, end, self._topic_id)
        self._from = end
        self._skipped.clear()
        kafka_consumer.commit(self._consumer, self._topic, self._passed(end))
        metrics.RECORDED.add(window.records)
        say(committed=made.id[:12], records=window.records, bytes=window.size, files=len(kept))
        requests.collect_if_due(self._dataset, self._rules)
        return True

    def _add_partitions(self) -> None:
        """Reads all partitions of the topic. Waits while brokers do not answer; raises BrokersLost after a while."""
        if starts := self._answer(self._starts):
            say(reads=",".join(f"{partition}:{offset}" for partition, offset in starts.items()))
            self._consumer.incremental_assign([TopicPartition(self._topic, *start) for start in starts.items()])
            self._from.update(starts)

    def _answer(self, ask: Callable[[], T]) -> T | None:
        """What the brokers answer; None if the stop came first. Raises BrokersLost after a while without an answer."""
        while not self._stop.is_set():
            try:
                found = ask()
            except KafkaException as error:
                self._brokers.have_failed(error)
                self._stop.wait(POLL_SECONDS)
            else:
                self._brokers.have_answered()
                return found
        return None

    def _identify(self) -> bool:
        """True if the topic is the one whose offsets these are. Raises ReadingError if it is another one."""
        now = self._ids.now()
        if topic_id.differ(self._topic_id, now):
            problem = topic_id.problem(self._topic, self._topic_id, now)
            raise ReadingError(f"{problem}; {record_position.REMEDY}")
        self._topic_id = self._topic_id or now
        return True

    def _starts(self) -> dict[int, int]:
        """Where to read each partition that is not read yet."""
        found = self._consumer.list_topics(self._topic, timeout=ANSWER_SECONDS).topics[self._topic]
        if found.error:
            raise KafkaException(found.error)
        self._identify()
        return {partition: self._start(partition) for partition in sorted(set(found.partitions) - set(self._from))}

    def _start(self, partition: int) -> int:
        """Where to read a partition: after what is committed, else at its first record."""
        at = TopicPartition(self._topic, partition)
        first, end = self._consumer.get_watermark_offsets(at, timeout=ANSWER_SECONDS)
        wanted = self._position.next.get(partition, first)
        where = f"topic {self._topic}, partition {partition}: the next record is {wanted}, Kafka has {first} to {end}"
        if wanted > end:
            raise ReadingError(
                f"{where}: the topic was recreated, or lost its newest records; {record_position.REMEDY}"
            )
        if wanted < first:
            if not self._skips:
                raise ReadingError(f"{where}: {_DELETED}; set `lost: skip` to continue with the first that Kafka has")
            self._skipped[partition] = first - wanted
            say(skipped=first - wanted, partition=partition)
        return max(wanted, first)

    def _pass(self, partition: int, end: int, window: Window) -> None:
        """Notes where a partition ends. What was read of it is in the window or in a commit. What comes after that up
        to the end is for no reader, and the group's lag does not count it.
        """
        self._ends[partition] = end
        if partition not in window.after and end > self._from.get(partition, end):
            kafka_consumer.commit(self._consumer, self._topic, {partition: end})

    def _passed(self, after: Mapping[int, int]) -> dict[int, int]:
        """These offsets, moved to the ends of their partitions."""
        return {partition: max(offset, self._ends.get(partition, 0)) for partition, offset in after.items()}

    def _report_now_and_then(self, window: Window) -> None:
        if self._look.is_due():
            unrecorded = {partition: self._from[partition] for partition in window.after}
            lag = kafka_consumer.lag(self._consumer, self._topic, {**self._passed(self._from), **unrecorded})
            if lag is not None:
                metrics.UNRECORDED.set(lag)


def main() -> int:
    """Returns the exit code: 0 after SIGTERM, 1 with a line if recording cannot continue."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    metrics.serve(metrics=metrics.RECORDING)
    try:
        recorder = Recorder(os.environ, stop)
        with recorder.refused():
            recorder.run()
    except (ReadingError, Refused) as error:
        print(f"tensorplane: {error}", file=sys.stderr, flush=True)
        return 1
    except OSError as error:
        print(f"tensorplane: {error.filename or 'the volume'}: {error.strerror or error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
