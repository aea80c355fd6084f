"""Settings of a stream that do not depend on the brokers, and of its mirror; brokers read these."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from tensorplane.components.base.model import Model, Name
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.base.produced import known
from tensorplane.components.base.value_types import Interval
from tensorplane.components.streams.clients import ClientArgs
from tensorplane.components.streams.endpoint import Endpoint
from tensorplane.components.streams.topic import TopicArgs, TopicName

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
        there = known(self.to.bootstrap)
        if there and set(there.split(",")) & set(own.split(",")):
            reason = f"{there!r} is the stream's own Kafka; use another Kafka"
            yield Problem((*path, "to", "bootstrap"), reason)


class StreamSettings(Model):
    """One stream as its broker sees it. Brokers import this, and `StreamArgs` imports the brokers."""

    broker: Model | None = None
    """The broker. `StreamArgs` narrows its type; declared here to keep the order of the settings."""
    volume: Name | None = None
    """Volume for the records of broker kind `embedded`, used by this stream only. Other brokers have disks of their
    own."""
    topics: Annotated[dict[TopicName, TopicArgs], Field(min_length=1)]
    """Topics, keyed by their names in Kafka."""
    groups: dict[Name, ClientArgs] = Field(default_factory=dict)
    """Consumer groups. Each may read its topics, and commits its offsets under its name."""
    producers: dict[Name, ClientArgs] = Field(default_factory=dict)
    """Clients that may write."""
    mirror: MirrorArgs | None = None
    """A copy in another Kafka cluster."""
    retain: bool = True
    """Whether deletion of topics and brokers is refused. Set it to false and deploy before you remove them. For records
    on a `volume`, that volume's `retain` applies instead."""
