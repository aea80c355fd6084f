"""Settings of a model server, without the workload's kind."""

from typing import Annotated

from pydantic import Field

from components.base.image import Image
from components.base.model import In, Model, Name, Resources
from workloads.settings.mounts import Location
from workloads.settings.streams import StreamUseArgs


class ServerSettings(Model):
    """Settings of a model server, without the workload's kind."""

    resources: Resources = Resources()
    """Resources of each pod."""
    model: Location
    """Folder of the model's numbered versions. The last element of its path is the model's name for clients."""
    replicas: Annotated[int, Field(ge=1, le=1000)] = 1
    """Number of server pods."""
    image: In[Image] | None = None
    """Container image that serves TensorFlow Serving's API; tensorflow/serving by default, a stand-in on `embedded`."""
    streams: Annotated[dict[Name, StreamUseArgs], Field(default_factory=dict)]
    """Streams that a custom `image` reads or writes: `events: {group: ranker}`. The variable STREAMS describes them."""

    @property
    def model_name(self) -> str:
        """The model's name in URLs."""
        return self.model.path.rsplit("/", 1)[-1]
