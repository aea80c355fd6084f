"""The embedded cluster's own Kafka: one broker in a pod, with its records on the volume that the stream is of."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import pulumi

from components.faults import Fault, Key
from components.stream import embedded_broker, embedded_topics, traffic
from components.stream.access import Access
from components.stream.broker import Request, StreamBroker
from components.stream.embedded_broker import NAME_LIMIT, PORT

if TYPE_CHECKING:
    from components.stream import StreamArgs


class EmbeddedBroker(StreamBroker):
    """One broker on the volume: what the volume's snapshots, clones and limits hold is the records. No encryption, no
    passwords: the namespace's policies say who reaches it."""

    kind: Literal["embedded"] = "embedded"

    clusters: ClassVar[frozenset[str] | None] = frozenset({"embedded"})
    on_the_volume: ClassVar[bool] = True

    @property
    def count(self) -> int | None:
        return 1

    def services(self, stream: str) -> tuple[str, ...]:
        return (embedded_broker.service(stream),)

    def check_names(self, args: "StreamArgs", path: Key) -> Iterator[Fault]:
        *volume, _ = path
        if len(name := volume[-1]) > NAME_LIMIT:
            reason = f"the name has {len(name)} characters, at most {NAME_LIMIT} with a stream on broker kind embedded"
            yield Fault(tuple(volume), reason)

    def check_mirror(self, args: "StreamArgs", path: Key) -> Iterator[Fault]:
        reason = "got one on broker kind embedded, need kind strimzi: one broker on this machine has no mirrors"
        yield Fault(path, reason, given=((*path[:-1], "broker"),))

    def declare(self, request: Request, opts: pulumi.ResourceOptions) -> Mapping[str, Access]:
        traffic.clients(request, [PORT], opts, embedded_broker.marks(request))
        traffic.brokers(request, embedded_broker.marks(request), [PORT], opts)
        broker = embedded_broker.declare(request, opts)
        embedded_topics.declare(request, broker, opts)
        one = Access(embedded_broker.address(request))
        return dict.fromkeys([*request.args.groups, *request.args.producers], one)
