"""A Kafka that a cloud or another team runs: its topics and rights are made there."""

from collections.abc import Iterator, Mapping
from typing import Literal

import pulumi

from components.faults import Fault, Key
from components.stream import traffic
from components.stream.access import Access
from components.stream.broker import Request, StreamBroker
from components.stream.endpoint import Endpoint


class Managed(StreamBroker):
    """Amazon MSK, Confluent Cloud, or any other Kafka, by its address and a secret."""

    kind: Literal["managed"] = "managed"

    endpoint: Endpoint
    """How to reach it."""

    def check(self, path: Key) -> Iterator[Fault]:
        yield from self.endpoint.check((*path, "endpoint"))

    def declare(self, request: Request, opts: pulumi.ResourceOptions) -> Mapping[str, Access]:
        traffic.clients(request, self.endpoint.ports, opts)
        return dict.fromkeys([*request.args.groups, *request.args.producers], self.endpoint.access)
