"""What is wrong with the streams of a stack side by side: one Kafka made twice, one topic that two streams declare."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from components.faults import Fault

if TYPE_CHECKING:
    from components.stream import StreamArgs


def faults(streams: Mapping[str, "StreamArgs"]) -> Iterator[Fault]:
    """A line for each object that two streams would come to. Keys of `streams` are the volumes' names."""
    brokers: dict[str, str] = {}
    topics: dict[tuple[str, str], str] = {}
    for name, args in streams.items():
        at, broker = ("volumes", name, "stream"), args.broker
        if broker is None or broker.kafka is None:
            continue
        if broker.count and (other := brokers.setdefault(broker.kafka, name)) != name:
            reason = f"the stream of volume {other} makes Kafka {broker.kafka} too: leave `brokers` out here"
            yield Fault((*at, "broker", "brokers"), reason, given=(("volumes", other),))
        for topic in args.topics:
            if (other := topics.setdefault((broker.kafka, topic), name)) != name:
                reason = f"the stream of volume {other} has this topic of Kafka {broker.kafka} too, need another name"
                yield Fault((*at, "topics", topic), reason, given=(("volumes", other),))
