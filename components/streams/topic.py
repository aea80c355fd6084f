"""Settings of a topic: partitions, replicas and retention."""

import math
import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from tensorplane.components.base.model import Model, refuse_all_but
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.base.quantities import GIB

_TOPIC = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_TOPIC_LIMIT = 249
_MILLISECONDS = 3600 * 1000
_COPIES = 3


def _check_topic_name(value: str) -> str:
    if not _TOPIC.fullmatch(value) or ".." in value or ".-" in value or "-." in value or len(value) > _TOPIC_LIMIT:
        refuse_all_but("lower-case letters and digits, dashes and dots between them, at most 249 characters")
    return value


TopicName = Annotated[str, AfterValidator(_check_topic_name)]
"""A name that is valid both as a Kafka topic and as a Kubernetes object."""


class TopicArgs(Model):
    """Settings of one topic."""

    partitions: Annotated[int, Field(ge=1, le=10000)] = 3
    """Number of partitions; at least the number of workers that read in parallel. It can grow, but not shrink."""
    replicas: Annotated[int, Field(ge=1, le=32767)] | None = None
    """Replicas of each partition, on as many brokers. With 3, writing continues while one broker is down; 3 by default,
    if there are as many brokers."""
    retention_hours: Annotated[float, Field(gt=0, le=1_000_000)] | None = 168
    """Hours to keep a record; `null` keeps records forever."""
    retention_gib: Annotated[float, Field(gt=0, le=1_048_576)] | None = None
    """Maximum size of a partition in GiB; the oldest records are deleted first. Unlimited by default."""
    compacted: bool = False
    """Whether Kafka deletes a record once a later one has the same key. Records without a key are then refused;
    retention applies too."""

    def copies(self, brokers: int | None) -> int:
        """Replicas of each partition on this number of brokers."""
        return self.replicas or min(_COPIES, brokers or _COPIES)

    def check(self, path: Key, brokers: int | None) -> Iterator[Problem]:
        """Problems of a topic on this number of brokers."""
        if brokers is not None and self.replicas is not None and self.replicas > brokers:
            reason = f"is {self.replicas}, but each replica is on a broker of its own; set {brokers} or less"
            yield Problem((*path, "replicas"), reason, given=((*path[:-2], "broker"),))

    def spec(self, brokers: int | None) -> dict[str, Any]:
        """The spec of a KafkaTopic on this number of brokers."""
        hours, gib = self.retention_hours, self.retention_gib
        copies = self.copies(brokers)
        expires = hours is not None or gib is not None
        return {
            "partitions": self.partitions,
            "replicas": copies,
            "config": {
                "cleanup.policy": _cleanup(compacted=self.compacted, expires=expires),
                "retention.ms": -1 if hours is None else math.ceil(hours * _MILLISECONDS),
                "retention.bytes": -1 if gib is None else math.ceil(gib * GIB),
                # A record is acknowledged once this number of replicas has it.
                "min.insync.replicas": max(1, copies - 1),
                # A replica without all acknowledged records never becomes the leader.
                "unclean.leader.election.enable": False,
            },
        }


def _cleanup(*, compacted: bool, expires: bool) -> str:
    """Kafka's policies for old records, in the order in which Kafka lists them."""
    if not compacted:
        return "delete"
    return "compact,delete" if expires else "compact"
