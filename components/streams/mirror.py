"""Settings of a stream's mirror: a copy of its topics and consumer group offsets in another Kafka cluster."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from components.base.model import Model
from components.base.problems import Key, Problem
from components.base.value_types import Interval
from components.streams.endpoint import Endpoint

MIRROR = "mirror"
"""Suffix of the user that copies the stream, after the stream's name."""


class MirrorArgs(Model):
    """A copy in another Kafka cluster. Records are copied continuously; `every` applies to offsets."""

    to: Endpoint
    """The other Kafka cluster. Its user may create topics, write to them, and alter consumer groups."""
    every: Interval = "1m"
    """Interval at which consumer group offsets are copied. They are never ahead: after a failover, some records are
    read twice."""
    tasks: Annotated[int, Field(ge=1, le=1000)] = 1
    """Number of parallel copy tasks. More tasks than partitions have no effect."""

    def check(self, path: Key, own: str) -> Iterator[Problem]:
        """A mirror must be another Kafka cluster."""
        yield from self.to.check((*path, "to"))
        if set(self.to.bootstrap.split(",")) & set(own.split(",")):
            reason = f"{self.to.bootstrap!r} is the stream's own Kafka; use another Kafka"
            yield Problem((*path, "to", "bootstrap"), reason)
