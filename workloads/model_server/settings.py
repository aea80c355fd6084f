"""Settings of a model server, without the workload's kind."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from components.base.model import In, Model, Name, Resources
from components.base.value_types import Image
from workloads.model_server.batching import BatchingArgs
from workloads.model_server.exposure.settings import ClientArgs, ExposureArgs, GatewayArgs
from workloads.model_server.page_settings import ModelPageArgs
from workloads.model_server.served_model import ServedModel
from workloads.pods.mounts import Location
from workloads.pods.streams import StreamUseArgs
from workloads.scaling.settings import ScalingArgs


class ServerSettings(Model):
    """Settings of a model server, without the workload's kind."""

    resources: Resources = Resources()
    """Resources of each pod."""
    model: ServedModel | None = None
    """The model. The last element of its path is its name for clients."""
    models: Annotated[dict[Name, ServedModel], Field(default_factory=dict)]
    """Several models instead of `model`, by their names for clients."""
    batching: BatchingArgs | None = None
    """Compute requests of several clients together: more requests per second, and each one waits longer. Off by
    default; `{}` has defaults for a processor."""
    gpu_memory_fraction: Annotated[float, Field(gt=0, le=1)] | None = None
    """Part of the GPU's memory that each pod reserves; by default all of it, or where pods take turns on a GPU
    (`timeSlicing`), an equal part each."""
    replicas: Annotated[int, Field(ge=1, le=1000)] = 1
    """Number of server pods."""
    scaling: ScalingArgs | None = None
    """Instead of `replicas`: as many pods as the load requires."""
    image: In[Image] | None = None
    """Container image that serves TensorFlow Serving's API; tensorflow/serving by default, a stand-in on `embedded`."""
    expose: ExposureArgs | None = None
    """How clients outside of the cluster's network reach the server; by default, only those inside do."""
    clients: tuple[ClientArgs, ...] | None = None
    """The only pods that may connect: `[{workload: web}, {namespace: shop}]`. By default all of the cluster's
    network."""
    page: ModelPageArgs | None = None
    """A web page for people who try the model in a browser; none by default. `{}` has the defaults."""
    streams: Annotated[dict[Name, StreamUseArgs], Field(default_factory=dict)]
    """Streams that a custom `image` reads or writes: `events: {group: ranker}`. The variable STREAMS describes them."""

    @property
    def served(self) -> Mapping[str, ServedModel]:
        """The models by their names in URLs."""
        return {self.model.name: self.model} if self.model else self.models

    @property
    def folders(self) -> Mapping[str, Location]:
        """The folders of the models on volumes, by the same names."""
        return {name: folder for name, model in self.served.items() if (folder := model.location)}

    @property
    def most_replicas(self) -> int:
        """The most pods, without those of a rolling update. Canary pods start beside all replicas."""
        if self.scaling:
            return self.scaling.max
        return self.replicas + self.canary_replicas

    @property
    def canary_replicas(self) -> int:
        """Pods of the canary while a version is tried; 0 without one."""
        canary = next((model.canary for model in self.served.values() if model.canary), None)
        return canary.replicas(self.replicas, by_route=self.tried_by_route) if canary else 0

    @property
    def tried_by_route(self) -> bool:
        """Whether a gateway's routes divide the requests between the stable pods and a canary."""
        return isinstance(self.expose, GatewayArgs) and self.with_canary is not None

    @property
    def needs_gateway(self) -> bool:
        """Whether Traefik, which stacks install, is the implementation of its Gateway."""
        expose = self.expose
        return isinstance(expose, GatewayArgs) and expose.create is not None and expose.create.is_traefiks

    def key_of(self, name: str) -> tuple[str, ...]:
        """Where the settings have a model."""
        return ("model",) if self.model else ("models", name)

    @property
    def with_canary(self) -> str | None:
        """The model whose new versions are tried by a canary; the checks allow one."""
        return next((name for name, model in self.served.items() if model.canary), None)
