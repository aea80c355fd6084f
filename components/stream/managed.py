"""A Kafka that a cloud or another team runs: its topics and rights are made there."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from components.faults import Fault, Key
from components.stream.broker import StreamBroker
from components.stream.endpoint import Endpoint


class Managed(StreamBroker):
    """Amazon MSK, Confluent Cloud, or any other Kafka, by its address and a secret."""

    kind: Literal["managed"] = "managed"
    declares_topics: ClassVar[bool] = False

    endpoint: Endpoint
    """How to reach it."""

    def check(self, path: Key) -> Iterator[Fault]:
        yield from self.endpoint.check((*path, "endpoint"))
