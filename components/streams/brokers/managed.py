"""A Kafka cluster that a cloud or another team operates: its topics and ACLs are created there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.streams import traffic
from tensorplane.components.streams.access import Access
from tensorplane.components.streams.broker import Request, StreamBroker
from tensorplane.components.streams.endpoint import Endpoint


class Managed(StreamBroker):
    """Amazon MSK, Confluent Cloud, or any other Kafka cluster, by its address and a Secret."""

    kind: Literal["managed"] = "managed"

    endpoint: Endpoint
    """How clients connect to it."""

    def check(self, path: Key) -> Iterator[Problem]:
        yield from self.endpoint.check((*path, "endpoint"))

    def access(self, stream: str, client: str, namespace: str) -> Access:
        return self.endpoint.access

    def declare(self, request: Request, opts: pulumi.ResourceOptions) -> None:
        traffic.clients(request, self.endpoint.ports, opts)
