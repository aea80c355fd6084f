"""A Kafka cluster that the Strimzi operator runs, either existing or created with the stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from tensorplane.components import versions
from tensorplane.components.base.labels import labels
from tensorplane.components.base.model import In, Name
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.streams import traffic
from tensorplane.components.streams.access import Access
from tensorplane.components.streams.base_settings import MIRROR, MirrorArgs, StreamSettings
from tensorplane.components.streams.broker import Request, StreamBroker
from tensorplane.components.streams.brokers.strimzi.mirror_maker import mirror_maker_spec
from tensorplane.components.streams.brokers.strimzi.spec import TLS_PORT, BrokersArgs, kafka_spec, node_pool_spec
from tensorplane.components.streams.clients import mirror_spec, reader_spec, writer_spec

_CLUSTER = "strimzi.io/cluster"
_USER_LIMIT = 64  # limit of a certificate's common name (RFC 5280, ub-common-name)
_POOL = "-brokers"
# A broker's pod is named by cluster, pool and number, and has that as a label, `strimzi.io/pod-name`.
_CLUSTER_LIMIT = (63 - len(f"-{_POOL}-99")) // 2


class Strimzi(StreamBroker):
    """Topics and users as Strimzi resources. tensorplane does not install the operator."""

    kind: Literal["strimzi"] = "strimzi"

    cluster: Name
    """Name of the Kafka resource, in the stack's namespace."""
    brokers: BrokersArgs | None = None
    """Brokers of a new Kafka cluster. If not set, the Kafka resource must exist, with a TLS listener on port 9093 and
    `simple` authorization."""

    @property
    def kafka(self) -> str | None:
        return self.cluster

    @property
    def count(self) -> int | None:
        return self.brokers.count if self.brokers else None

    @property
    def storage_class(self) -> In[str] | None:
        return self.brokers.storage_class if self.brokers else None

    def services(self, stream: str) -> tuple[str, ...]:
        return (f"{self.cluster}-kafka-bootstrap", f"{self.cluster}-kafka-brokers")

    @property
    def bootstrap(self) -> str:
        """Bootstrap address, over TLS with client certificates."""
        return f"{self.cluster}-kafka-bootstrap:{TLS_PORT}"

    @property
    def authority(self) -> str:
        """Secret with the brokers' certificate authority, as `ca.crt`."""
        return f"{self.cluster}-cluster-ca-cert"

    @property
    def selector(self) -> dict[str, str]:
        """Labels that select the pods of the Kafka cluster."""
        return {_CLUSTER: self.cluster}

    def check_names(self, args: StreamSettings, path: Key) -> Iterator[Problem]:
        if self.brokers and len(self.cluster) > _CLUSTER_LIMIT:
            reason = (
                f"the name has {len(self.cluster)} characters; shorten it to {_CLUSTER_LIMIT}, the limit for a "
                f"new Kafka cluster"
            )
            yield Problem((*path, "broker", "cluster"), reason)
        for section, clients in (("groups", args.groups), ("producers", args.producers)):
            for client in clients:
                if len(user := f"{path[-1]}-{client}") > _USER_LIMIT:
                    reason = (
                        f"its KafkaUser {user} has {len(user)} characters; shorten the name, so that it has at "
                        f"most {_USER_LIMIT}"
                    )
                    yield Problem((*path, section, client), reason)
                elif user in self._secrets:
                    yield Problem(
                        (*path, section, client),
                        f"its KafkaUser would be {user}, the name of a Secret of that Kafka; use another name",
                    )

    @property
    def _secrets(self) -> tuple[str, ...]:
        """Secrets that Strimzi creates for the Kafka cluster, in addition to one for each user."""
        of_authorities = (f"{self.cluster}-{one}-ca{part}" for one in ("cluster", "clients") for part in ("", "-cert"))
        return (
            *of_authorities,
            f"{self.cluster}-cluster-operator-certs",
            f"{self.cluster}-entity-topic-operator-certs",
        )

    def users(self, args: StreamSettings, stream: str) -> tuple[str, ...]:
        return tuple(f"{stream}-{one}" for one in (*args.groups, *args.producers, *([MIRROR] if args.mirror else ())))

    def check_mirror(self, args: StreamSettings, path: Key) -> Iterator[Problem]:
        for section, clients in (("groups", args.groups), ("producers", args.producers)):
            if MIRROR in clients:
                yield Problem((*path[:-1], section, MIRROR), "is the name of the mirror's own user; use another name")
        if args.mirror:
            yield from args.mirror.check(path, self.bootstrap)

    def access(self, stream: str, client: str, namespace: str) -> Access:
        return Access(
            self.bootstrap, tls=True, authentication="tls", secret=_user(stream, client), authority=self.authority
        )

    def declare(self, request: Request, opts: pulumi.ResourceOptions) -> None:
        traffic.clients(request, [TLS_PORT], opts, self.selector)
        _Objects(self, request, opts).declare()


def _user(stream: str, client: str) -> str:
    """Name of a client's KafkaUser, and of the Secret that Strimzi creates for it."""
    return f"{stream}-{client}"


class _Objects:
    """The objects of one stream."""

    def __init__(self, broker: Strimzi, request: Request, opts: pulumi.ResourceOptions) -> None:
        self._broker, self._request, self._opts = broker, request, opts

    def declare(self) -> None:
        """Creates them all."""
        broker, args = self._broker, self._request.args
        made: list[pulumi.Resource] = []
        if broker.brokers:
            traffic.operated(self._request, "kafka", broker.selector, self._opts, to=broker.selector)
            # The pool first, because Strimzi reports an error for a Kafka resource without one.
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
            self._object("KafkaUser", _user(self._request.name, user), spec, after=made)
        if args.mirror:
            self._mirror(args.mirror, after=topics)

    def _mirror(self, mirror: MirrorArgs, *, after: Sequence[pulumi.Resource]) -> None:
        broker, request = self._broker, self._request
        topics, groups = list(request.args.topics), list(request.args.groups)
        name = _user(request.name, MIRROR)
        user = self._object("KafkaUser", name, mirror_spec(topics, groups), after=after)
        selector = {_CLUSTER: name}
        traffic.operated(request, MIRROR, selector, self._opts, to=broker.selector, ports=mirror.to.ports)
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

    def _object(
        self,
        kind: str,
        name: str,
        spec: Mapping[str, Any],
        *,
        keep: bool = False,
        after: Sequence[pulumi.Resource] = (),
    ) -> k8s.apiextensions.CustomResource:
        object_labels = labels(self._request.name, "stream")
        if kind not in ("Kafka", "KafkaMirrorMaker2"):
            object_labels[_CLUSTER] = self._broker.cluster
        keep = keep and self._request.retain
        opts = pulumi.ResourceOptions(protect=keep, retain_on_delete=keep, depends_on=list(after) or None)
        return k8s.apiextensions.CustomResource(
            f"{self._request.name}-{kind}-{name}",
            api_version=versions.STRIMZI_API,
            kind=kind,
            metadata={"name": name, "namespace": self._request.namespace.name, "labels": object_labels},
            spec=spec,
            opts=pulumi.ResourceOptions.merge(self._opts, opts),
        )
