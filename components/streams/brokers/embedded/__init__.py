"""Kafka on the embedded cluster: one broker in a pod, with its records on the stream's volume."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.streams import traffic
from tensorplane.components.streams.access import Access
from tensorplane.components.streams.base_settings import StreamSettings
from tensorplane.components.streams.broker import Request, StreamBroker
from tensorplane.components.streams.brokers.embedded import deployment, topics
from tensorplane.components.streams.brokers.embedded.deployment import NAME_LIMIT, PORT


class EmbeddedBroker(StreamBroker):
    """A single broker on the stream's volume, so that snapshots and clones of the volume include the records. It has no
    TLS and no passwords; the namespace's NetworkPolicies decide who reaches it."""

    kind: Literal["embedded"] = "embedded"
    untried: ClassVar[str] = ""

    clusters: ClassVar[frozenset[str] | None] = frozenset({"embedded"})
    on_the_volume: ClassVar[bool] = True

    @property
    def count(self) -> int | None:
        return 1

    def services(self, stream: str) -> tuple[str, ...]:
        return (deployment.service(stream),)

    def check_names(self, args: StreamSettings, path: Key) -> Iterator[Problem]:
        if len(name := path[-1]) > NAME_LIMIT:
            yield Problem(
                path,
                f"the name has {len(name)} characters; shorten it to {NAME_LIMIT}, the limit of broker kind embedded",
            )

    def check_mirror(self, args: StreamSettings, path: Key) -> Iterator[Problem]:
        reason = "broker kind embedded cannot mirror, because it is a single broker on this machine; use kind strimzi"
        yield Problem(path, reason, given=((*path[:-1], "broker"),))

    def access(self, stream: str, client: str, namespace: str) -> Access:
        return Access(deployment.address(stream, namespace))

    def declare(self, request: Request, opts: pulumi.ResourceOptions) -> None:
        traffic.clients(request, [PORT], opts, deployment.selector(request))
        traffic.brokers(request, deployment.selector(request), [PORT], opts)
        broker = deployment.declare(request, opts)
        topics.declare(request, broker, opts)
