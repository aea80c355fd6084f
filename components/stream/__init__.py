"""Streams: topics of a Kafka, with who reads and writes them, and a mirror; the Kafka is chosen by kind."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pulumi
import pulumi_kubernetes as k8s
from pydantic import Field

from components.family import load_family
from components.faults import Fault, Key
from components.labels import labels
from components.model import Model, Name
from components.namespace import Namespace
from components.stream.broker import StreamBroker
from components.stream.clients import ClientArgs, mirror_spec, reader_spec, writer_spec
from components.stream.managed import Managed
from components.stream.mirror import MIRROR, MirrorArgs, mirror_maker_spec
from components.stream.strimzi import Strimzi, kafka_spec, node_pool_spec
from components.stream.topic import TopicArgs, TopicName

load_family(__name__, __path__)

STRIMZI_API = "kafka.strimzi.io/v1"
_CLUSTER = "strimzi.io/cluster"


class StreamArgs(Model):
    """Settings of one stream."""

    broker: StreamBroker
    """The Kafka that keeps it: `strimzi` (run on this cluster by Strimzi), or `managed` (by anybody else)."""
    topics: Annotated[dict[TopicName, TopicArgs], Field(min_length=1)]
    """Its topics, by their names in Kafka."""
    groups: Annotated[dict[Name, ClientArgs], Field(default_factory=dict)]
    """Consumer groups. Each may read its topics, and keeps its progress under its name."""
    producers: Annotated[dict[Name, ClientArgs], Field(default_factory=dict)]
    """Who may write."""
    mirror: MirrorArgs | None = None
    """A copy in another Kafka."""
    retain: bool = True
    """Refuse to delete the topics. Set it to false, and deploy that, before removing a stream and its records."""

    def check(self, path: Key) -> Iterator[Fault]:
        """What does not go together, a fault each."""
        yield from self.broker.check((*path, "broker"))
        for name, topic in self.topics.items():
            yield from topic.check((*path, "topics", name), self.broker.count)
        for section, clients in (("groups", self.groups), ("producers", self.producers)):
            for name, client in clients.items():
                yield from client.check((*path, section, name), list(self.topics))
        for name in sorted(self.groups.keys() & self.producers.keys()):
            yield Fault((*path, "producers", name), "a group has this name too: who reads and who writes are two users")
        if self.mirror:
            yield from self._check_mirror(self.mirror, (*path, "mirror"))

    def _check_mirror(self, mirror: MirrorArgs, path: Key) -> Iterator[Fault]:
        for section, clients in (("groups", self.groups), ("producers", self.producers)):
            if MIRROR in clients:
                yield Fault((*path[:-1], section, MIRROR), "the name of the mirror's own user, need another")
        if isinstance(self.broker, Strimzi):
            yield from mirror.check(path, self.broker.bootstrap)
        elif isinstance(self.broker, Managed):
            yield Fault(path, "got one on broker kind managed, need kind strimzi: who runs that Kafka mirrors it")


@dataclass(frozen=True)
class Access:
    """What a reader or writer needs: `runtime.stream.Topic` takes the same three words."""

    bootstrap: str
    secret: str | None
    """Secret with what proves who asks."""
    authority: str | None
    """Secret with the authority, `ca.crt`, that signed the brokers' certificates; None for the public ones."""


class Stream(pulumi.ComponentResource):
    """A stream that workloads read by the name of a consumer group.

    With `retain`, removing a topic from the settings and `pulumi destroy` are refused before anything changes, and even
    an unprotected topic stays in Kafka.
    """

    def __init__(
        self,
        name: str,
        args: StreamArgs,
        *,
        namespace: Namespace,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        props = {"broker": args.broker.kind, "topics": sorted(args.topics), "retain": args.retain}
        super().__init__("tensorplane:index:Stream", name, props, opts)
        self._name, self._args, self._namespace = name, args, namespace
        self.access: Mapping[str, Access] = {}
        """How each group and each producer reaches it."""
        if isinstance(args.broker, Strimzi):
            self._on_strimzi(args.broker)
        elif isinstance(args.broker, Managed):
            endpoint = args.broker.endpoint
            one = Access(endpoint.bootstrap, endpoint.secret, endpoint.authority)
            self.access = dict.fromkeys([*args.groups, *args.producers], one)
        self.register_outputs({"topics": sorted(args.topics), "groups": sorted(args.groups)})

    def _on_strimzi(self, broker: Strimzi) -> None:
        args = self._args
        made: list[pulumi.Resource] = []
        if broker.brokers:
            # The pool first: a Kafka without one is reported as broken.
            pool = self._object(
                "KafkaNodePool", f"{broker.cluster}-brokers", broker, node_pool_spec(broker.brokers), keep=True
            )
            spec = kafka_spec(broker.brokers)
            made = [self._object("Kafka", broker.cluster, broker, spec, keep=True, after=[pool])]
        topics = [
            self._object("KafkaTopic", topic, broker, settings.spec(), keep=True, after=made)
            for topic, settings in args.topics.items()
        ]
        users = {
            **{group: reader_spec(group, self._topics(client)) for group, client in args.groups.items()},
            **{writer: writer_spec(self._topics(client)) for writer, client in args.producers.items()},
        }
        access: dict[str, Access] = {}
        for user, spec in users.items():
            secret = f"{self._name}-{user}"
            self._object("KafkaUser", secret, broker, spec, after=made)
            access[user] = Access(broker.bootstrap, secret, broker.authority)
        self.access = access
        if args.mirror:
            self._mirror(args.mirror, broker, after=topics)

    def _mirror(self, mirror: MirrorArgs, broker: Strimzi, *, after: Sequence[pulumi.Resource]) -> None:
        topics, groups = list(self._args.topics), list(self._args.groups)
        name = f"{self._name}-{MIRROR}"
        user = self._object("KafkaUser", name, broker, mirror_spec(topics, groups), after=after)
        source = {
            "alias": "source",
            "bootstrapServers": broker.bootstrap,
            "tls": {"trustedCertificates": [{"secretName": broker.authority, "certificate": "ca.crt"}]},
            "authentication": {
                "type": "tls",
                "certificateAndKey": {"secretName": name, "certificate": "user.crt", "key": "user.key"},
            },
        }
        spec = mirror_maker_spec(self._name, mirror, source, topics, groups)
        self._object("KafkaMirrorMaker2", name, None, spec, after=[user])

    def _topics(self, client: ClientArgs) -> list[str]:
        return sorted(client.topics or self._args.topics)

    def _object(
        self,
        kind: str,
        name: str,
        broker: Strimzi | None,
        spec: Mapping[str, Any],
        *,
        keep: bool = False,
        after: Sequence[pulumi.Resource] = (),
    ) -> k8s.apiextensions.CustomResource:
        marks = labels(self._name, "stream")
        if broker and kind != "Kafka":
            marks[_CLUSTER] = broker.cluster
        keep = keep and self._args.retain
        return k8s.apiextensions.CustomResource(
            f"{self._name}-{kind}-{name}",
            api_version=STRIMZI_API,
            kind=kind,
            metadata={"name": name, "namespace": self._namespace.name, "labels": marks},
            spec=spec,
            opts=pulumi.ResourceOptions(
                parent=self, protect=keep, retain_on_delete=keep, depends_on=list(after) or None
            ),
        )
