"""Mounts of volumes: their settings, and the paths in pods."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import model_validator

from tensorplane.components.base.model import Model, RelativePath
from tensorplane.components.base.value_types import MountPath
from tensorplane.workloads.pods.pod import VolumeMount


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


@dataclass(frozen=True)
class Mountable:
    """A volume, for the pods that mount it."""

    claim: str
    """Name of the volume's claim in the namespace."""
    path: str | None = None
    """Default mount path."""
    one_node: bool = False
    """Whether only the pods of one node can mount it."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of pods that mount it."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations of pods that mount it."""

    def at(self, path: str, *, read_only: bool, folder: str = "") -> VolumeMount:
        """The volume, or a folder of it, at a path of a pod."""
        return VolumeMount(self.claim, path, read_only, self.one_node, self.labels, self.annotations, folder)


def of(mounts: Mapping[str, MountArgs], volumes: Mapping[str, Mountable]) -> list[VolumeMount]:
    """The pod's mounts, sorted, so that the order in the settings does not matter."""
    return [
        volumes[name].at(path_of(name, mounts, volumes), read_only=mount.read_only)
        for name, mount in sorted(mounts.items())
    ]


def inside(location: Location, mounts: Mapping[str, MountArgs], volumes: Mapping[str, Mountable]) -> str:
    """Path of a folder in the pods."""
    return f"{path_of(location.volume, mounts, volumes)}/{location.path}"


def path_of(name: str, mounts: Mapping[str, MountArgs], volumes: Mapping[str, Mountable]) -> str:
    """Mount path of a volume."""
    path = mounts[name].path or volumes[name].path
    if path is None:
        raise ValueError(f"volume {name} is mounted without a path: the checks refuse that")
    return path
