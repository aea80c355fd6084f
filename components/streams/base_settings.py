"""Settings of a stream that do not depend on the brokers; brokers read these."""

from typing import Annotated

from pydantic import Field

from components.base.model import Model, Name
from components.streams.clients import ClientArgs
from components.streams.mirror import MirrorArgs
from components.streams.topic import TopicArgs, TopicName


class StreamSettings(Model):
    """One stream as its broker sees it. Brokers import this, and `StreamArgs` imports the brokers."""

    broker: Model | None = None
    """The broker. `StreamArgs` narrows its type; declared here to keep the order of the settings."""
    volume: Name | None = None
    """Volume for the records of broker kind `embedded`, used by this stream only. Other brokers have disks of their
    own."""
    topics: Annotated[dict[TopicName, TopicArgs], Field(min_length=1)]
    """Topics, keyed by their names in Kafka."""
    groups: Annotated[dict[Name, ClientArgs], Field(default_factory=dict)]
    """Consumer groups. Each may read its topics, and commits its offsets under its name."""
    producers: Annotated[dict[Name, ClientArgs], Field(default_factory=dict)]
    """Clients that may write."""
    mirror: MirrorArgs | None = None
    """A copy in another Kafka cluster."""
    retain: bool = True
    """Whether deletion of topics and brokers is refused. Set it to false and deploy before you remove them. For records
    on a `volume`, that volume's `retain` applies instead."""
