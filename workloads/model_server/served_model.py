"""What a model server serves: where its numbered versions are, which of them, and labels for some."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from components.base.model import Model, Name, RelativePath, refuse
from workloads.model_server.canary.settings import CanaryArgs
from workloads.model_server.fetched_model import settings as fetched_model_settings
from workloads.model_server.fetched_model.settings import FetchArgs, ModelUri
from workloads.model_server.version import Version
from workloads.pods.mounts import Location

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
            refuse("one of {latest: 2}, {specific: [3, 4]} and all")
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
    labels: Annotated[dict[Name, Version], Field(default_factory=dict)]
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
            refuse("volume and path, from, or uri")
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
