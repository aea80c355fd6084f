"""Where workloads mount volumes, and folders on them."""

from typing import Any

from pydantic import model_validator

from components.base.model import Model, RelativePath
from components.base.value_types import MountPath


class MountArgs(Model):
    """Where a volume is mounted. The path alone is enough: `models: /models`."""

    path: MountPath | None = None
    """Absolute mount path; by default the `path` of the volume, which is the same in every training pod."""
    read_only: bool = False
    """Whether the mount is read-only."""

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else {} if value is None else value


class Location(Model):
    """A folder on a volume."""

    volume: str
    """Name of the volume."""
    path: RelativePath
    """Folder, relative to the volume's root. It is created on the first write."""
