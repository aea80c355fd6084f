"""Settings of a model server, without the workload's kind."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from tensorplane.components.base.model import In, Model, Name, RelativePath, Resources, refuse_all_but
from tensorplane.components.base.value_types import Image
from tensorplane.workloads.model_server.canary.settings import CanaryArgs, Version
from tensorplane.workloads.model_server.exposure.settings import ClientArgs, ExposureArgs, GatewayArgs
from tensorplane.workloads.model_server.fetched_model import settings as fetched_model_settings
from tensorplane.workloads.model_server.fetched_model.settings import FetchArgs, ModelUri
from tensorplane.workloads.pods.mounts import Location
from tensorplane.workloads.pods.streams import StreamUseArgs
from tensorplane.workloads.scaling.settings import ScalingArgs


class BatchingArgs(Model):
    """Batches of requests. The names and meanings are those of TensorFlow Serving's batching parameters.

    A request waits at most `batchTimeoutMicros` for others. Signatures need a first dimension of any size, for the rows
    of a batch.
    """

    max_batch_size: Annotated[int, Field(ge=1, le=1_000_000)] = 32
    """Most rows of a batch. A request with more rows is refused."""
    batch_timeout_micros: Annotated[int, Field(ge=0, le=3_600_000_000)] = 1000
    """Microseconds that the first request of a batch waits for more."""
    max_enqueued_batches: Annotated[int, Field(ge=1, le=1_000_000)] = 100
    """Batches of a signature that may wait; further requests are answered with UNAVAILABLE (503)."""
    num_batch_threads: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Batches that are computed at a time; by default as many as the pod has CPUs."""
    allowed_batch_sizes: list[Annotated[int, Field(ge=1)]] = Field(default_factory=list)
    """Sizes to which batches are filled up, ascending, the last one being `maxBatchSize`; by default any size. With a
    GPU or XLA, few sizes save compilations."""


class ModelPageArgs(Model):
    """A web page of a model server: its inputs, drawn with the mouse or as JSON, and the answer.

    Everybody who reaches the server may open it; it has no login.
    """

    ink: Annotated[float, Field(gt=0, le=1e6)] = 1
    """The value of a full pixel of a picture, such as 16 for digits with pixels from 0 to 16, or 255."""


_SOURCES = {(True, True, False, False), (False, False, True, False), (False, False, False, True)}
"""Which of `volume`, `path`, `from` and `uri` are set."""


class VersionPolicy(Model):
    """Which of the versions in the folder are served: `{latest: 2}`, `{specific: [3, 4]}` or `all`."""

    latest: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """This many of the newest."""
    specific: Annotated[list[Version], Field(min_length=1)] | None = None
    """These, as long as they are in the folder."""
    all: bool = False
    """All of them."""

    @model_validator(mode="before")
    @classmethod
    def _word(cls, value: Any) -> Any:
        return {"all": True} if value == "all" else value

    @model_validator(mode="after")
    def _one(self) -> Self:
        if [self.latest is not None, self.specific is not None, self.all].count(True) != 1:
            refuse_all_but("one of {latest: 2}, {specific: [3, 4]} and all")
        return self


class ServedModel(Model):
    """A model: the folder of its numbered versions on a volume, `volume` and `path` or `from`, or what `uri` has."""

    volume: str | None = None
    """Name of the volume."""
    path: RelativePath | None = None
    """Folder, relative to the volume's root. Its last element is the model's name for clients."""
    from_job: Annotated[Name | None, Field(alias="from")] = None
    """Instead of `volume` and `path`: the training job of the stack whose published versions are served, or the sweep
    whose best trial's."""
    uri: ModelUri | None = None
    """Instead of a volume: an archive or a folder that each pod fetches before it starts, with a SavedModel or numbered
    folders of versions: `https://HOST/NAME.tar.gz`, `gs://BUCKET/PATH`, `s3://BUCKET/PATH`. The last part, without the
    archive's ending, is the model's name for clients. Another address replaces the pods."""
    fetch: FetchArgs | None = None
    """How `uri` is fetched: digest, credentials, what the pods may connect to."""
    versions: VersionPolicy = VersionPolicy(latest=1)
    """Which versions are served. A request without a version goes to the newest of them."""
    labels: dict[Name, Version] = Field(default_factory=dict)
    """Names for versions, in URLs and requests: `{stable: 3, canary: 4}`. A label moves once its new version is
    served."""
    pin: Version | None = None
    """The one version that is served, whatever is published: one line to roll back."""
    canary: CanaryArgs | None = None
    """Try each new version with a part of the requests first, and promote it or roll it back by its gate."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = (self.volume, self.path, self.from_job, self.uri)
        if tuple(each is not None for each in given) not in _SOURCES:
            refuse_all_but("volume and path, from, or uri")
        return self

    @property
    def location(self) -> Location | None:
        """The folder on a volume; None with `uri`, and where `from` means none, which the checks refuse."""
        if self.volume is None or self.path is None:
            return None
        return Location(volume=self.volume, path=self.path)

    @property
    def name(self) -> str:
        """The name for clients, where the settings give it no other."""
        return (
            fetched_model_settings.name_of(self.uri)
            if self.uri
            else (self.path or self.from_job or "").rpartition("/")[2]
        )

    def at(self, folder: Location) -> "ServedModel":
        """The same in the folder that `from` means."""
        return self.model_copy(update={"volume": folder.volume, "path": folder.path})

    def key(self, setting: Literal["volume", "path"]) -> str:
        """The setting that says it: `from` and `uri` where they say both."""
        return "uri" if self.uri else "from" if self.from_job else setting

    @property
    def policy(self) -> VersionPolicy:
        """`versions`, or the pinned one."""
        return VersionPolicy(specific=[self.pin]) if self.pin else self.versions


class ServerSettings(Model):
    """Settings of a model server, without the workload's kind."""

    resources: Resources = Resources()
    """Resources of each pod."""
    model: ServedModel | None = None
    """The model. The last element of its path is its name for clients."""
    models: dict[Name, ServedModel] = Field(default_factory=dict)
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
    streams: dict[Name, StreamUseArgs] = Field(default_factory=dict)
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
