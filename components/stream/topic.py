"""One topic of a stream: how it is split, how many copies there are, for how long it keeps what."""

import math
import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from components.faults import Fault, Key
from components.model import Model, refuse

_TOPIC = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_TOPIC_LIMIT = 249
_MILLISECONDS = 3600 * 1000
_GIB = 1 << 30
_COPIES = 3


def _topic_name(value: str) -> str:
    if not _TOPIC.fullmatch(value) or ".." in value or ".-" in value or "-." in value or len(value) > _TOPIC_LIMIT:
        refuse("lower-case letters and digits, dashes and dots between them, at most 249 characters")
    return value


TopicName = Annotated[str, AfterValidator(_topic_name)]
"""What Kafka takes as a topic and Kubernetes as the name of the object that declares it."""


class TopicArgs(Model):
    """Settings of one topic."""

    partitions: Annotated[int, Field(ge=1, le=10000)] = 3
    """Parts that are read side by side: at least as many as a training job has workers. It can grow, never shrink."""
    replicas: Annotated[int, Field(ge=1, le=32767)] | None = None
    """Copies of each partition, on as many brokers. With 3, one broker may be away and writing goes on: the default,
    where there are as many."""
    retention_hours: Annotated[float, Field(gt=0)] | None = 168
    """How long a record is kept. `null` keeps it for ever."""
    retention_gib: Annotated[float, Field(gt=0)] | None = None
    """How much a partition keeps; the oldest goes first. By default as much as comes within `retentionHours`."""

    def copies(self, brokers: int | None) -> int:
        """Copies of each partition on this many brokers."""
        return self.replicas or min(_COPIES, brokers or _COPIES)

    def check(self, path: Key, brokers: int | None) -> Iterator[Fault]:
        """What this many brokers cannot give."""
        if brokers is not None and self.replicas is not None and self.replicas > brokers:
            reason = f"got {self.replicas}, need at most {brokers}: each copy is on a broker of its own"
            yield Fault((*path, "replicas"), reason, given=((*path[:-2], "broker"),))

    def spec(self, brokers: int | None) -> dict[str, Any]:
        """The spec of a KafkaTopic on this many brokers."""
        hours, gib = self.retention_hours, self.retention_gib
        copies = self.copies(brokers)
        return {
            "partitions": self.partitions,
            "replicas": copies,
            "config": {
                "cleanup.policy": "delete",
                "retention.ms": -1 if hours is None else math.ceil(hours * _MILLISECONDS),
                "retention.bytes": -1 if gib is None else math.ceil(gib * _GIB),
                # A producer is told that its record is safe once so many copies have it.
                "min.insync.replicas": max(1, copies - 1),
                # A copy that lacks acknowledged records never becomes the one that is read.
                "unclean.leader.election.enable": False,
            },
        }
