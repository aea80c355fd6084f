"""What a model server serves: a folder of numbered versions, which of them, and labels for some."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from components.base.model import Model, Name, refuse
from workloads.settings.canary import CanaryArgs
from workloads.settings.mounts import Location
from workloads.settings.version import Version


class VersionPolicy(Model):
    """Which of the versions in the folder are served: `{latest: 2}`, `{specific: [3, 4]}` or `all`."""

    latest: Annotated[int, Field(ge=1)] | None = None
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


class ServedModel(Location):
    """A model: the folder of its numbered versions on a volume."""

    versions: VersionPolicy = VersionPolicy(latest=1)
    """Which versions are served. A request without a version goes to the newest of them."""
    labels: Annotated[dict[Name, Version], Field(default_factory=dict)]
    """Names for versions, in URLs and requests: `{stable: 3, canary: 4}`. A label moves once its new version is
    served."""
    pin: Version | None = None
    """The one version that is served, whatever is published: one line to roll back."""
    canary: CanaryArgs | None = None
    """Try each new version with a part of the requests first, and promote it or roll it back by its gate."""

    @property
    def policy(self) -> VersionPolicy:
        """`versions`, or the pinned one."""
        return VersionPolicy(specific=[self.pin]) if self.pin else self.versions
