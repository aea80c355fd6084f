"""The family of Kafkas that a stream can be on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pulumi
import pulumi_kubernetes as k8s

from components.base.family import Variant
from components.base.faults import Fault, Key
from components.clusters.component import Cluster
from components.namespace import Namespace
from components.streams.access import Access
from components.streams.base_settings import StreamSettings


@dataclass(frozen=True)
class Request:
    """One stream as a broker sees it."""

    name: str
    namespace: Namespace
    args: StreamSettings
    cluster: Cluster
    disk: "k8s.core.v1.PersistentVolumeClaim | None"
    """The claim of the stream's volume, where it has one."""
    retain: bool
    needed: Sequence[pulumi.Resource]
    """What must be ready before a job can be created."""

    @property
    def claim(self) -> "k8s.core.v1.PersistentVolumeClaim":
        """The claim of the volume that holds the records."""
        if self.disk is None:
            raise ValueError(f"stream {self.name} has no volume: its checks refuse that")
        return self.disk

    def topics_of(self, topics: Sequence[str] | None) -> list[str]:
        """The topics that a client uses."""
        return sorted(topics or self.args.topics)


class StreamBroker(Variant, family=True):
    """The Kafka that keeps a stream."""

    kind: str

    clusters: ClassVar[frozenset[str] | None] = None
    """Kinds of cluster that have it; None for all."""
    on_the_volume: ClassVar[bool] = False
    """Whether it keeps the records on the volume that the stream names, so that nobody else may mount that."""

    @property
    def kafka(self) -> str | None:
        """Name of the Kafka that the stream's objects are of, in the stack's namespace; None where it has none."""
        return None

    @property
    def count(self) -> int | None:
        """How many brokers there are, where the settings say so."""
        return None

    def users(self, args: StreamSettings, stream: str) -> tuple[str, ...]:
        """Names of the users that it makes for a stream, in the stack's namespace."""
        return ()

    def services(self, stream: str) -> tuple[str, ...]:
        """Names of the services in front of it: no workload can have them."""
        return ()

    @property
    def storage_class(self) -> str | None:
        """The StorageClass that its brokers' disks are to be of; None where the settings name none."""
        return None

    def check(self, path: Key) -> Iterator[Fault]:
        """What does not go together in these settings."""
        yield from ()

    def check_names(self, args: StreamSettings, path: Key) -> Iterator[Fault]:
        """Names that are too long for what the stream, which is at this path, comes to."""
        yield from ()

    def check_mirror(self, args: StreamSettings, path: Key) -> Iterator[Fault]:
        """What is wrong with the stream's mirror, which is at this path, on such a Kafka."""
        reason = (
            f"broker kind {self.kind} cannot mirror, because tensorplane does not operate that Kafka; use kind strimzi"
        )
        yield Fault(path, reason, given=((*path[:-1], "broker"),))

    def access(self, stream: str, client: str, namespace: str) -> Access:
        """How a group or a producer reaches the stream of this name. `namespace`: the stack's."""
        raise NotImplementedError

    def declare(self, request: Request, opts: pulumi.ResourceOptions) -> None:
        """Create what the stream comes to, as children."""
        raise NotImplementedError
