"""What is wrong with the streams of a stack side by side: one Kafka made twice, one topic or user that two declare."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from components.faults import Fault

if TYPE_CHECKING:
    from components.stream import StreamArgs


def faults(streams: Mapping[str, "StreamArgs"]) -> Iterator[Fault]:
    """A line for each object that two streams would come to. Keys of `streams` are the volumes' names."""
    brokers: dict[str, str] = {}
    topics: dict[str, tuple[str, str]] = {}
    users: dict[str, str] = {}
    for name, args in streams.items():
        at, broker = ("volumes", name, "stream"), args.broker
        if broker is None or broker.kafka is None:
            continue
        if broker.count and (other := brokers.setdefault(broker.kafka, name)) != name:
            reason = f"the stream of volume {other} makes Kafka {broker.kafka} too: leave `brokers` out here"
            yield Fault((*at, "broker", "brokers"), reason, given=(("volumes", other),))
        for topic in args.topics:
            other, kafka = topics.setdefault(topic, (name, broker.kafka))
            if other != name:
                one = f"topic of Kafka {kafka}" if kafka == broker.kafka else f"KafkaTopic, for Kafka {kafka},"
                reason = f"the stream of volume {other} has this {one} too, need another name"
                yield Fault((*at, "topics", topic), reason, given=(("volumes", other),))
        for user in broker.users(args, name):
            if (other := users.setdefault(user, name)) != name:
                reason = f"its user {user} is one of volume {other}'s stream too, need another name"
                yield Fault(at, reason, given=(("volumes", other),))
