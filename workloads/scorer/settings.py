"""Settings of a scorer, without the workload's kind."""

from typing import Annotated

from pydantic import Field

from tensorplane.components.base.model import In, Model, Name, NonEmptyStr, Resources
from tensorplane.components.base.value_types import Image
from tensorplane.workloads.pods.streams import StreamUseArgs
from tensorplane.workloads.training_job.settings import ServerModel


class InputArgs(Model):
    """The records that a scorer reads."""

    stream: Name
    """Stream of the topic."""
    topic: NonEmptyStr
    """Topic with the records. The value of each is one instance of the model's input, as JSON."""
    group: Name
    """Consumer group of the scorer, which no other workload uses. Its committed offsets say which records are
    scored."""

    @property
    def use(self) -> StreamUseArgs:
        """How the scorer uses the stream."""
        return StreamUseArgs(group=self.group)


class OutputArgs(Model):
    """The results that a scorer writes."""

    stream: Name
    """Stream of the topic. It may be that of the input."""
    topic: NonEmptyStr
    """Topic for the results, one of each key; `compacted: true` lets Kafka delete repeated ones."""
    producer: Name
    """Producer as which the scorer writes."""

    @property
    def use(self) -> StreamUseArgs:
        """How the scorer uses the stream."""
        return StreamUseArgs(producer=self.producer)


class LagScalingArgs(Model):
    """How many pods a scorer has, by its lag. It requires KEDA, which asks the brokers."""

    min: Annotated[int, Field(ge=0, le=1000)] = 1
    """The fewest pods. With 0, the last pod stops when no records are left, and the next record starts one."""
    max: Annotated[int, Field(ge=1, le=1000)]
    """The most pods."""
    lag: Annotated[int, Field(ge=1, le=1_000_000_000)]
    """Records without a result for each pod: with more, further pods start."""
    scale_down_seconds: Annotated[int, Field(ge=0, le=3600)] = 300
    """Seconds of lower lag before pods are stopped, at most half of them each minute."""


class ScorerSettings(Model):
    """Settings of a scorer, without the workload's kind."""

    server: ServerModel
    """Model server of the stack, as `SERVER/MODEL` if it has several models."""
    input: InputArgs
    """Topic that it reads."""
    output: OutputArgs
    """Topic that it writes."""
    replicas: Annotated[int, Field(ge=1, le=1000)] = 1
    """Number of pods. Each reads some of the topic's partitions."""
    scaling: LagScalingArgs | None = None
    """Instead of `replicas`: as many pods as the lag requires."""
    batch: Annotated[int, Field(ge=1, le=10000)] = 64
    """The most records of one request to the server."""
    resources: Resources = Resources(cpus=0.25, memory_gib=0.5)
    """Resources of each pod."""
    image: In[Image] | None = None
    """Container image with Python and Kafka's client; by default that of training jobs on `embedded`. Required
    elsewhere: TensorFlow's public image has no client of Kafka."""

    @property
    def most_replicas(self) -> int:
        """The most pods."""
        return self.scaling.max if self.scaling else self.replicas

    @property
    def count_at(self) -> tuple[str, ...]:
        """Where the settings have the most pods."""
        return ("scaling", "max") if self.scaling else ("replicas",)
