"""Streams: topics of a Kafka, with who reads and writes them, and a mirror; the Kafka is chosen by kind."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, cast

import pulumi
import pulumi_kubernetes as k8s
from pydantic import Field

from components.cluster import Cluster, ClusterArgs
from components.family import load_family
from components.faults import Fault, Key
from components.model import Model, Name
from components.namespace import Namespace
from components.stream.access import Access
from components.stream.broker import Request, StreamBroker
from components.stream.clients import ClientArgs
from components.stream.mirror import MirrorArgs
from components.stream.topic import TopicArgs, TopicName

load_family(__name__, __path__)


class StreamArgs(Model):
    """The topics of a volume, and who reads and writes them."""

    broker: StreamBroker | None = None
    """The Kafka that keeps it. On the embedded cluster, by default, one broker on the volume itself: `embedded`."""
    topics: Annotated[dict[TopicName, TopicArgs], Field(min_length=1)]
    """Its topics, by their names in Kafka."""
    groups: Annotated[dict[Name, ClientArgs], Field(default_factory=dict)]
    """Consumer groups. Each may read its topics, and keeps its progress under its name."""
    producers: Annotated[dict[Name, ClientArgs], Field(default_factory=dict)]
    """Who may write."""
    mirror: MirrorArgs | None = None
    """A copy in another Kafka."""

    def broker_on(self, cluster: ClusterArgs) -> StreamBroker | None:
        """The Kafka in use on this cluster; None where nobody says which."""
        if self.broker or cluster.stream_broker is None:
            return self.broker
        return cast(StreamBroker, StreamBroker.variants[cluster.stream_broker]())

    def is_on_the_volume(self, cluster: ClusterArgs) -> bool:
        """Whether the volume itself holds the records, so that nobody else may mount it."""
        broker = self.broker_on(cluster)
        return broker is not None and broker.on_the_volume

    def check(self, path: Key, cluster: ClusterArgs) -> Iterator[Fault]:
        """What does not go together, a fault each."""
        for section, clients in (("groups", self.groups), ("producers", self.producers)):
            for name, client in clients.items():
                yield from client.check((*path, section, name), list(self.topics))
        for name in sorted(self.groups.keys() & self.producers.keys()):
            yield Fault((*path, "producers", name), "a group has this name too: who reads and who writes are two users")
        broker, at = self.broker_on(cluster), (*path, "broker")
        if broker is None:
            reason = f"missing, and cluster kind {cluster.kind} has none of its own: need managed or strimzi"
            yield Fault(at, reason, given=(at,))
            return
        if broker.clusters is not None and cluster.kind not in broker.clusters:
            need = f"it needs cluster kind {' or '.join(sorted(broker.clusters))}"
            yield Fault(at, f"got {broker.kind} on cluster kind {cluster.kind}, {need}")
            return
        yield from broker.check(at)
        yield from broker.check_names(self, path)
        for name, topic in self.topics.items():
            yield from topic.check((*path, "topics", name), broker.count)
        if self.mirror:
            yield from broker.check_mirror(self, (*path, "mirror"))


class Stream(pulumi.ComponentResource):
    """A stream that workloads read by the name of a consumer group.

    With `retain`, removing a topic from the settings and `pulumi destroy` are refused before anything changes, and even
    an unprotected topic stays in Kafka.
    """

    access: Mapping[str, Access]
    """How each group and each producer reaches it."""

    def __init__(
        self,
        name: str,
        args: StreamArgs,
        *,
        cluster: Cluster,
        namespace: Namespace,
        claim: "k8s.core.v1.PersistentVolumeClaim",
        retain: bool,
        needed: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        broker = args.broker_on(cluster.args)
        if broker is None:
            raise ValueError(f"stream {name} is on no broker: `check` refuses that")
        props = {"broker": broker.kind, "topics": sorted(args.topics), "retain": retain}
        super().__init__("tensorplane:index:Stream", name, props, opts)
        self.args = args
        request = Request(name, namespace, args, cluster, claim, retain, needed)
        self.access = broker.declare(request, pulumi.ResourceOptions(parent=self))
        self.register_outputs({"topics": sorted(args.topics), "groups": sorted(args.groups)})

    def topics_of(self, client: str) -> list[str]:
        """The topics that a group reads, or that a producer writes to."""
        one = self.args.groups.get(client) or self.args.producers[client]
        return sorted(one.topics or self.args.topics)
