"""The family of brokers: Kafka clusters that a stream can use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tensorplane.components.base.family import UNTRIED, Variant
from tensorplane.components.base.model import In
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.streams.access import Access
from tensorplane.components.streams.base_settings import StreamSettings

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster
    from tensorplane.components.namespace.component import Namespace


@dataclass(frozen=True)
class Request:
    """One stream as a broker sees it."""

    name: str
    namespace: Namespace
    args: StreamSettings
    cluster: Cluster
    disk: k8s.core.v1.PersistentVolumeClaim | None
    """The claim of the stream's volume, if it has one."""
    retain: bool
    depends_on: Sequence[pulumi.Resource]
    """Resources that must be ready before a job can be created."""
    autoscaled: bool = False
    """Whether the cluster has KEDA for workloads."""

    @property
    def claim(self) -> k8s.core.v1.PersistentVolumeClaim:
        """The claim of the volume that holds the records."""
        if self.disk is None:
            raise ValueError(f"stream {self.name} has no volume, which its checks refuse")
        return self.disk

    def topics_of(self, topics: Sequence[str] | None) -> list[str]:
        """The topics of a client."""
        return sorted(topics or self.args.topics)


class StreamBroker(Variant, family=True):
    """The Kafka cluster of a stream."""

    kind: str
    untried: ClassVar[str] = UNTRIED

    clusters: ClassVar[frozenset[str] | None] = None
    """Kinds of clusters that have it; None for all."""
    on_the_volume: ClassVar[bool] = False
    """Whether it keeps the records on the stream's volume, which nothing else may mount."""

    @property
    def kafka(self) -> str | None:
        """Name of the Kafka resource in the stack's namespace; None if there is none."""
        return None

    @property
    def count(self) -> int | None:
        """Number of brokers; None if the settings do not declare it."""
        return None

    def users(self, args: StreamSettings, stream: str) -> tuple[str, ...]:
        """Names of the users that it creates for a stream in the stack's namespace."""
        return ()

    def services(self, stream: str) -> tuple[str, ...]:
        """Names of its Services, which no workload can have."""
        return ()

    @property
    def storage_class(self) -> In[str] | None:
        """The StorageClass of its brokers' disks; None if the settings name none."""
        return None

    def check(self, path: Key) -> Iterator[Problem]:
        """Problems of these settings."""
        yield from ()

    def check_names(self, args: StreamSettings, path: Key) -> Iterator[Problem]:
        """Problems of names that are too long for objects of the stream at this path."""
        yield from ()

    def check_mirror(self, args: StreamSettings, path: Key) -> Iterator[Problem]:
        """Problems of the stream's mirror at this path."""
        reason = (
            f"broker kind {self.kind} cannot mirror, because tensorplane does not operate that Kafka; use kind strimzi"
        )
        yield Problem(path, reason, given=((*path[:-1], "broker"),))

    def access(self, stream: str, client: str, namespace: str) -> Access:
        """Connection of a group or producer to the stream of this name. `namespace`: the stack's."""
        raise NotImplementedError

    def declare(self, request: Request, opts: pulumi.ResourceOptions) -> None:
        """Creates the stream's resources, as children."""
        raise NotImplementedError
