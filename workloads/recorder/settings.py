"""Settings of a recorder, without the workload's kind."""

from typing import Annotated, Any, Literal

from pydantic import Field

from tensorplane.components.base.model import In, Model, Name, NonEmptyStr, Resources
from tensorplane.components.base.value_types import Image
from tensorplane.workloads.pipeline.settings import MAIN, Branch
from tensorplane.workloads.pods.streams import StreamUseArgs


class RecordedArgs(Model):
    """The records that a recorder reads."""

    stream: Name
    """Stream of the topic."""
    topic: NonEmptyStr
    """Topic with the records."""
    group: Name
    """Consumer group of the recorder, which no other workload uses. Its committed offsets follow the dataset, so its
    lag is what is not recorded. A branch of a dataset has the records of one group: with another one, set another
    `dataset` or `branch`, where the recorder begins with the first record that there is."""

    @property
    def use(self) -> StreamUseArgs:
        """How the recorder uses the stream."""
        return StreamUseArgs(group=self.group)


class WindowArgs(Model):
    """How many records become one version: the first limit that is reached ends a window."""

    records: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """The most records."""
    mib: Annotated[int, Field(ge=1, le=4096)] = 64
    """The most MiB of their values, which the pod has in memory. The last record may exceed it."""
    seconds: Annotated[float, Field(ge=0.1, le=7 * 86400)] = 60
    """Seconds after the window's first record was read."""

    @property
    def limits(self) -> dict[str, Any]:
        """As the library reads them."""
        return {"records": self.records, "size": self.mib * 2**20, "seconds": self.seconds}


class RecorderSettings(Model):
    """Settings of a recorder, without the workload's kind."""

    input: RecordedArgs
    """Topic that it reads."""
    dataset: Name
    """Dataset of `datasets` whose versions it makes. Each has the records of all windows so far."""
    branch: Branch = MAIN
    """Branch of the dataset that gets the versions."""
    window: WindowArgs = WindowArgs()
    """When a version is made."""
    layout: Literal["lines", "files"] = "lines"
    """Files of a window. `lines`: one per partition with JSON lines, `PARTITION/OFFSET.jsonl` by its first record;
    values that are no JSON are `no-json/PARTITION/OFFSET`. `files`: one per record with its value as it is,
    `PARTITION/OFFSET`."""
    lost: Literal["stop", "skip"] = "stop"
    """What happens where retention of the topic has deleted records before they were recorded: the recorder stops with
    an error, or goes on with the first record that is there, and the commit says how many are missing."""
    resources: Resources = Resources(cpus=0.25, memory_gib=0.5)
    """Resources of its pod."""
    image: In[Image] | None = None
    """Container image with Python and Kafka's client; by default that of training jobs on `embedded`. Required
    elsewhere: TensorFlow's public image has no client of Kafka."""
