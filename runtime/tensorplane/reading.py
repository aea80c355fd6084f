"""Reading a topic without losing a record: what scorers and recorders share."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tensorplane.declared_streams import DeclaredStream
from tensorplane.log import say

POLL_SECONDS = 0.5
ANSWER_SECONDS = 30.0
"""Time for one answer of the brokers."""
RECONNECT = {"reconnect.backoff.max.ms": 1000}
_FORBIDDEN = {KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED}
_LOOK_SECONDS = 5.0


class ReadingError(RuntimeError):
    """A program cannot continue without losing records."""


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
            **settings,
        }
    )


def is_record(message: Message, remedy: str) -> bool:
    """Whether it is a record. Errors that pass are none; others raise ReadingError, a gap with this remedy."""
    error = message.error()
    if not error:
        return True
    where = f"topic {message.topic()}, partition {message.partition()}"
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        raise ReadingError(f"{where}: {remedy} ({error.str()})")
    if error.fatal() or error.code() in _FORBIDDEN:
        raise ReadingError(f"{where}: {error.str()}")
    say(waiting=f"{where}: {error.str()}")
    return False


def commit(group: Consumer, topic: str, after: Mapping[int, int]) -> None:
    """Commit the group's offsets, by partition. If Kafka does not, the next commit does. Raises ReadingError."""
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


class NowAndThen:
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
