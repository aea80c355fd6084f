"""A copy of a volume elsewhere that follows by itself: its settings."""

from typing import Literal, Self

from pydantic import model_validator

from components import interval
from components.interval import Interval
from components.model import Filled, Model, refuse


class MirrorTarget(Model):
    """Where the copy is kept: exactly one of these, of which the capability matrix has those of each backend."""

    region: Filled | None = None
    """Region of the cloud, another one than the cluster's."""
    pool: Literal["mirror"] | None = None
    """The embedded cluster's second pool."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self.model_fields_set) != 1:
            refuse("exactly one place")
        return self

    @property
    def way(self) -> str:
        """The setting that says where."""
        return next(iter(self.model_fields_set))


class MirrorArgs(Model):
    """A copy of the volume that follows it."""

    to: MirrorTarget
    """Where the copy is kept."""
    every: Interval | None = None
    """How old the copy may get, where the backend lets you say it: 15m, 1h, 1d."""

    @property
    def every_seconds(self) -> int | None:
        """The age in seconds."""
        return interval.seconds(self.every) if self.every else None
