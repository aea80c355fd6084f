"""A Kafka that the Strimzi operator runs on the stack's cluster, there before or made with the stream."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pulumi
import pulumi_kubernetes as k8s

from components import versions
from components.faults import Fault, Key
from components.labels import labels
from components.model import Name
from components.stream import traffic
from components.stream.access import Access
from components.stream.broker import Request, StreamBroker
from components.stream.clients import mirror_spec, reader_spec, writer_spec
from components.stream.mirror import MIRROR, MirrorArgs, mirror_maker_spec
from components.stream.strimzi_spec import TLS_PORT, BrokersArgs, kafka_spec, node_pool_spec

if TYPE_CHECKING:
    from components.stream import StreamArgs

_CLUSTER = "strimzi.io/cluster"
_USER_LIMIT = 64  # a certificate's common name has no more (RFC 5280, ub-common-name)
_POOL = "-brokers"
# A broker's pod is named by cluster, pool and number, and has that as a label, `strimzi.io/pod-name`.
_CLUSTER_LIMIT = (63 - len(f"-{_POOL}-99")) // 2


class Strimzi(StreamBroker):
    """Topics and rights as Strimzi's objects. The operator itself is not installed by tensorplane."""

    kind: Literal["strimzi"] = "strimzi"

    cluster: Name
    """Name of the Kafka object, in the stack's namespace."""
    brokers: BrokersArgs | None = None
    """Make the Kafka, with these brokers. Absent: it is there, with a TLS listener on 9093 and `simple` rights."""

    @property
    def kafka(self) -> str | None:
        return self.cluster

    @property
    def count(self) -> int | None:
        return self.brokers.count if self.brokers else None

    def services(self, stream: str) -> tuple[str, ...]:
        return (f"{self.cluster}-kafka-bootstrap", f"{self.cluster}-kafka-brokers")

    @property
    def bootstrap(self) -> str:
        """Where clients begin, by TLS with a certificate of their own."""
        return f"{self.cluster}-kafka-bootstrap:{TLS_PORT}"

    @property
    def authority(self) -> str:
        """The Secret with the certificate authority of the brokers, `ca.crt`."""
        return f"{self.cluster}-cluster-ca-cert"

    @property
    def marks(self) -> dict[str, str]:
        """Labels of the brokers' pods, and of those that look after them."""
        return {_CLUSTER: self.cluster}

    def check_names(self, args: "StreamArgs", path: Key) -> Iterator[Fault]:
        if self.brokers and len(self.cluster) > _CLUSTER_LIMIT:
            reason = f"the name has {len(self.cluster)} characters, at most {_CLUSTER_LIMIT} where its brokers are made"
            yield Fault((*path, "broker", "cluster"), reason)
        for section, clients in (("groups", args.groups), ("producers", args.producers)):
            for client in clients:
                if len(user := f"{path[-2]}-{client}") > _USER_LIMIT:
                    reason = f"its user is {user}, which has {len(user)} characters, at most {_USER_LIMIT}"
                    yield Fault((*path, section, client), reason)
                elif user in self._secrets:
                    yield Fault((*path, section, client), f"its user is {user}, a Secret of the Kafka's: need another")

    @property
    def _secrets(self) -> tuple[str, ...]:
        """Those that Strimzi makes for the Kafka itself, beside one for each user."""
        of_authorities = (f"{self.cluster}-{one}-ca{part}" for one in ("cluster", "clients") for part in ("", "-cert"))
        return (
            *of_authorities,
            f"{self.cluster}-cluster-operator-certs",
            f"{self.cluster}-entity-topic-operator-certs",
        )

    def users(self, args: "StreamArgs", stream: str) -> tuple[str, ...]:
        return tuple(f"{stream}-{one}" for one in (*args.groups, *args.producers, *([MIRROR] if args.mirror else ())))

    def check_mirror(self, args: "StreamArgs", path: Key) -> Iterator[Fault]:
        for section, clients in (("groups", args.groups), ("producers", args.producers)):
            if MIRROR in clients:
                yield Fault((*path[:-1], section, MIRROR), "the name of the mirror's own user, need another")
        if args.mirror:
            yield from args.mirror.check(path, self.bootstrap)

    def declare(self, request: Request, opts: pulumi.ResourceOptions) -> Mapping[str, Access]:
        traffic.clients(request, [TLS_PORT], opts, self.marks)
        return _Objects(self, request, opts).access()


class _Objects:
    """The objects of one stream."""

    def __init__(self, broker: Strimzi, request: Request, opts: pulumi.ResourceOptions) -> None:
        self._broker, self._request, self._opts = broker, request, opts

    def access(self) -> dict[str, Access]:
        """Creates them all; how each client gets in."""
        broker, args = self._broker, self._request.args
        made: list[pulumi.Resource] = []
        if broker.brokers:
            traffic.operated(self._request, "kafka", broker.marks, self._opts, to=broker.marks)
            # The pool first: a Kafka without one is reported as broken.
            pool = self._object("KafkaNodePool", f"{broker.cluster}{_POOL}", node_pool_spec(broker.brokers), keep=True)
            made = [self._object("Kafka", broker.cluster, kafka_spec(broker.brokers), keep=True, after=[pool])]
        topics = [
            self._object("KafkaTopic", topic, settings.spec(broker.count), keep=True, after=made)
            for topic, settings in args.topics.items()
        ]
        users = {
            **{name: reader_spec(name, self._request.topics_of(one.topics)) for name, one in args.groups.items()},
            **{name: writer_spec(self._request.topics_of(one.topics)) for name, one in args.producers.items()},
        }
        for user, spec in users.items():
            self._object("KafkaUser", self._secret(user), spec, after=made)
        if args.mirror:
            self._mirror(args.mirror, after=topics)
        return {
            user: Access(
                broker.bootstrap, tls=True, authentication="tls", secret=self._secret(user), authority=broker.authority
            )
            for user in users
        }

    def _mirror(self, mirror: MirrorArgs, *, after: Sequence[pulumi.Resource]) -> None:
        broker, request = self._broker, self._request
        topics, groups = list(request.args.topics), list(request.args.groups)
        name = self._secret(MIRROR)
        user = self._object("KafkaUser", name, mirror_spec(topics, groups), after=after)
        marks = {_CLUSTER: name}
        traffic.operated(request, MIRROR, marks, self._opts, to=broker.marks, ports=mirror.to.ports)
        source = {
            "alias": "source",
            "bootstrapServers": broker.bootstrap,
            "tls": {"trustedCertificates": [{"secretName": broker.authority, "certificate": "ca.crt"}]},
            "authentication": {
                "type": "tls",
                "certificateAndKey": {"secretName": name, "certificate": "user.crt", "key": "user.key"},
            },
        }
        spec = mirror_maker_spec(request.name, mirror, source, topics, groups)
        self._object("KafkaMirrorMaker2", name, spec, after=[user])

    def _secret(self, user: str) -> str:
        """A user's name in Kafka, and that of the Secret which Strimzi makes for it."""
        return f"{self._request.name}-{user}"

    def _object(
        self,
        kind: str,
        name: str,
        spec: Mapping[str, Any],
        *,
        keep: bool = False,
        after: Sequence[pulumi.Resource] = (),
    ) -> "k8s.apiextensions.CustomResource":
        marks = labels(self._request.name, "stream")
        if kind not in ("Kafka", "KafkaMirrorMaker2"):
            marks[_CLUSTER] = self._broker.cluster
        keep = keep and self._request.retain
        opts = pulumi.ResourceOptions(protect=keep, retain_on_delete=keep, depends_on=list(after) or None)
        return k8s.apiextensions.CustomResource(
            f"{self._request.name}-{kind}-{name}",
            api_version=versions.STRIMZI_API,
            kind=kind,
            metadata={"name": name, "namespace": self._request.namespace.name, "labels": marks},
            spec=spec,
            opts=pulumi.ResourceOptions.merge(self._opts, opts),
        )
