"""Settings of a stream: Kafka topics, their consumers and producers, and a mirror."""

from collections.abc import Mapping
from typing import cast

from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.streams.access import Access
from tensorplane.components.streams.base_settings import StreamSettings
from tensorplane.components.streams.broker import StreamBroker
from tensorplane.components.volumes.base_settings import VolumeSettings


class StreamArgs(StreamSettings):
    """Kafka topics, and the clients that read and write them."""

    broker: StreamBroker | None = None
    """The Kafka cluster. By default `embedded` on the embedded cluster, which is one broker on `volume`; required
    elsewhere."""

    def broker_on(self, cluster: ClusterArgs) -> StreamBroker | None:
        """The broker in use on this cluster; None if there is none."""
        if self.broker or cluster.stream_broker is None:
            return self.broker
        return cast(StreamBroker, StreamBroker.variants[cluster.stream_broker]())

    def access(self, stream: str, client: str, cluster: ClusterArgs, namespace: str) -> Access:
        """How a consumer group or producer connects. `namespace` is the stack's."""
        broker = self.broker_on(cluster)
        if broker is None:
            raise ValueError(f"stream {stream} has no broker, which `check` refuses")
        return broker.access(stream, client, namespace)

    def topics_of(self, client: str) -> list[str]:
        """Topics that a consumer group reads or a producer writes."""
        one = self.groups.get(client) or self.producers[client]
        return sorted(one.topics or self.topics)

    def is_on_the_volume(self, cluster: ClusterArgs) -> bool:
        """Whether the volume has the records, so that nothing else may mount it."""
        broker = self.broker_on(cluster)
        return broker is not None and broker.on_the_volume

    def retained(self, volumes: Mapping[str, VolumeSettings]) -> bool:
        """Whether deletion of topics and brokers is refused. Records on a volume are deleted with the volume."""
        return volumes[self.volume].retain if self.volume else self.retain
