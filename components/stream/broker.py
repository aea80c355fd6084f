"""The family of Kafkas that a stream can be on."""

from collections.abc import Iterator
from typing import ClassVar

from components.family import Variant
from components.faults import Fault, Key


class StreamBroker(Variant, family=True):
    """The Kafka that keeps a stream."""

    kind: str

    declares_topics: ClassVar[bool]
    """Whether topics, rights and mirrors are made by objects of Kubernetes."""

    @property
    def count(self) -> int | None:
        """How many brokers there are, where the settings say so."""
        return None

    def check(self, path: Key) -> Iterator[Fault]:
        """What does not go together in these settings."""
        yield from ()
