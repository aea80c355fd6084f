"""Reading a topic without losing a record: what scorers and recorders share.

librdkafka since 2.10 may lose its brokers for ever: a broker whose session has ended, as on a machine that is too busy,
names no broker to who asks, and a client that has asked then never asks again (its issue 5301). So clients that get no
answer for a while are replaced by new ones, which is right after any other outage, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tensorplane.declared_streams import DeclaredStream
from tensorplane.errors import TensorplaneError
from tensorplane.log import say

POLL_SECONDS = 0.5
ANSWER_SECONDS = 30.0
"""Time for one answer of the brokers."""
LOST_SECONDS = 60.0
"""A client that has had no answer for so long may get none any more."""
RECONNECT = {"reconnect.backoff.max.ms": 1000}
_FORBIDDEN = {KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED}
_LOOK_SECONDS = 5.0


class ReadingError(TensorplaneError, RuntimeError):
    """A program cannot continue without losing records."""


class BrokersLost(TensorplaneError):
    """The brokers have not answered a client for LOST_SECONDS."""


class Brokers:
    """Whether the brokers answer a client."""

    def __init__(self, topic: str, clock: Callable[[], float] = time.monotonic) -> None:
        """`topic`: one that the client may ask about. `clock`: seconds since any moment."""
        self._topic, self._clock, self._look = topic, clock, Throttle()
        self._silent: float | None = None
        """When they were asked first without an answer since the last one."""

    def have_answered(self) -> None:
        """Notes an answer."""
        self._silent = None

    def have_failed(self, error: KafkaException) -> None:
        """Says how a request failed. Raises BrokersLost if they have not answered for too long."""
        say(waiting=f"topic {self._topic}: {error.args[0].str()}")
        if error.args[0].code() > KafkaError.NO_ERROR:  # of a broker, such as that there is no such topic
            self.have_answered()
            return
        now = self._clock()
        if self._silent is None:
            self._silent = now
        elif now - self._silent >= LOST_SECONDS:
            say(reconnects=f"no broker has answered for {LOST_SECONDS:.0f} s")
            raise BrokersLost

    def ask_now_and_then(self, client: Consumer | Producer) -> None:
        """Asks them something, if that is due. Raises BrokersLost."""
        if self._look.is_due():
            try:
                client.list_topics(self._topic, timeout=_LOOK_SECONDS)
            except KafkaException as error:
                self.have_failed(error)
            else:
                self.have_answered()


def consumer(source: DeclaredStream, settings: Mapping[str, Any]) -> Consumer:
    """A consumer of the stream's group that never commits automatically, and for which a gap is an error."""
    return Consumer(
        {
            **source.client(),
            **RECONNECT,
            "group.id": source.group or "",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,  # `end_of`
            **settings,
        }
    )


def end_of(message: Message) -> int | None:
    """The offset before which everything of a partition has been read, if the message says so. Of topics with
    transactions, it is after what no reader gets: their markers, and records that were aborted.
    """
    error = message.error()
    return message.offset() if error and error.code() == KafkaError._PARTITION_EOF else None


def is_record(message: Message, remedy: str) -> bool:
    """Whether it is a record. Errors that pass are none; others raise ReadingError, a gap with this remedy."""
    error = message.error()
    if not error:
        return True
    if end_of(message) is not None:
        return False
    where = f"topic {message.topic()}, partition {message.partition()}"
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        raise ReadingError(f"{where}: {remedy} ({error.str()})")
    if error.fatal() or error.code() in _FORBIDDEN:
        raise ReadingError(f"{where}: {error.str()}")
    say(waiting=f"{where}: {error.str()}")
    return False


def commit(group: Consumer, topic: str, after: Mapping[int, int]) -> None:
    """Commits the group's offsets, by partition. If Kafka does not, the next commit does. Raises ReadingError."""
    offsets = [TopicPartition(topic, partition, offset) for partition, offset in after.items()]
    try:
        group.commit(offsets=offsets, asynchronous=False)
    except KafkaException as error:
        if error.args[0].code() in _FORBIDDEN:
            raise ReadingError(f"topic {topic}: {error.args[0].str()}") from error
        say(uncommitted=error.args[0].name())


def lag(reader: Consumer, topic: str, after: Mapping[int, int]) -> int | None:
    """Records from these offsets on, of all partitions together; None if the brokers do not answer."""
    try:
        ends = {
            partition: reader.get_watermark_offsets(TopicPartition(topic, partition), timeout=_LOOK_SECONDS)[1]
            for partition in after
        }
    except KafkaException:
        return None
    return sum(max(0, end - after[partition]) for partition, end in ends.items())


class Throttle:
    """Whether something that costs a request is due again."""

    def __init__(self, seconds: float = _LOOK_SECONDS) -> None:
        self._seconds, self._last = seconds, float("-inf")

    def is_due(self) -> bool:
        """Whether the last time it was due is this long ago."""
        now = time.monotonic()
        if now - self._last < self._seconds:
            return False
        self._last = now
        return True
