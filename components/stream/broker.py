"""The family of Kafkas that a stream can be on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pulumi
import pulumi_kubernetes as k8s

from components.cluster import Cluster
from components.family import Variant
from components.faults import Fault, Key
from components.namespace import Namespace
from components.stream.access import Access

if TYPE_CHECKING:
    from components.stream import StreamArgs


@dataclass(frozen=True)
class Request:
    """One stream as a broker sees it."""

    name: str
    namespace: Namespace
    args: "StreamArgs"
    cluster: Cluster
    claim: "k8s.core.v1.PersistentVolumeClaim"
    """The volume that the stream is of."""
    retain: bool
    needed: Sequence[pulumi.Resource]
    """What must be ready before a job can be created."""

    def topics_of(self, topics: Sequence[str] | None) -> list[str]:
        """The topics that a client uses."""
        return sorted(topics or self.args.topics)


class StreamBroker(Variant, family=True):
    """The Kafka that keeps a stream."""

    kind: str

    clusters: ClassVar[frozenset[str] | None] = None
    """Kinds of cluster that have it; None for all."""
    on_the_volume: ClassVar[bool] = False
    """Whether the volume itself holds the records, so that nobody else may mount it."""

    @property
    def kafka(self) -> str | None:
        """Name of the Kafka that the stream's objects are of, in the stack's namespace; None where it has none."""
        return None

    @property
    def count(self) -> int | None:
        """How many brokers there are, where the settings say so."""
        return None

    def users(self, args: "StreamArgs", stream: str) -> tuple[str, ...]:
        """Names of the users that it makes for a stream, in the stack's namespace."""
        return ()

    def services(self, stream: str) -> tuple[str, ...]:
        """Names of the services in front of it: no workload can have them."""
        return ()

    def check(self, path: Key) -> Iterator[Fault]:
        """What does not go together in these settings."""
        yield from ()

    def check_names(self, args: "StreamArgs", path: Key) -> Iterator[Fault]:
        """Names that are too long for what the stream, which is at this path, comes to."""
        yield from ()

    def check_mirror(self, args: "StreamArgs", path: Key) -> Iterator[Fault]:
        """What is wrong with the stream's mirror, which is at this path, on such a Kafka."""
        reason = f"got one on broker kind {self.kind}, need kind strimzi: who runs that Kafka mirrors it"
        yield Fault(path, reason, given=((*path[:-1], "broker"),))

    def declare(self, request: Request, opts: pulumi.ResourceOptions) -> Mapping[str, Access]:
        """Create what the stream comes to, as children; how each group and each producer reaches it."""
        raise NotImplementedError
