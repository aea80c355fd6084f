"""A copy of a volume elsewhere that follows by itself: its settings."""

import re
from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, model_validator

from components.model import Filled, Model, refuse

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


def _interval(value: str) -> str:
    if not re.fullmatch(r"[1-9]\d{0,3}[mhd]", value):
        refuse("minutes, hours or days, such as 15m, 1h or 1d")
    return value


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
    every: Annotated[str, AfterValidator(_interval)] | None = None
    """How old the copy may get, where the backend lets you say it: 15m, 1h, 1d."""

    @property
    def every_seconds(self) -> int | None:
        """The age in seconds."""
        return round(int(self.every[:-1]) * _UNITS[self.every[-1]].total_seconds()) if self.every else None
