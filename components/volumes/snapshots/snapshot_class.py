"""VolumeSnapshotClasses of a stack, with their parameters and deletion policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tensorplane.components.base import names
from tensorplane.components.base.custom_resource import top_level_resource
from tensorplane.components.base.labels import TENSORPLANE
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.volumes.source import GROUP_SNAPSHOT_GROUP, SNAPSHOT_GROUP


@dataclass(frozen=True)
class SnapshotClass:
    """A VolumeSnapshotClass, shared by volumes with the same driver and parameters."""

    driver: str
    parameters: tuple[tuple[str, str], ...] = ()
    group: bool = False
    """Whether it is a VolumeGroupSnapshotClass."""
    existing: str | None = None
    """Name of an existing class to use unchanged."""

    def name(self, prefix: str) -> str:
        """Name with a hash of the content, because a class is immutable."""
        if self.existing:
            return self.existing
        if not self.parameters:
            return f"{prefix}-{self.driver}"
        return f"{prefix}-{self.driver}-{names.digest_of(self.parameters)}"

    def create(self, prefix: str, *, keeps: Literal["Retain", "Delete"], opts: pulumi.ResourceOptions) -> str:
        """Creates the class and returns its name. With `Retain`, data outlives the VolumeSnapshot and its namespace."""
        name = self.name(prefix)
        if self.existing:
            return name
        top_level_resource(
            name,
            api_version=f"{GROUP_SNAPSHOT_GROUP if self.group else SNAPSHOT_GROUP}/v1",
            kind="VolumeGroupSnapshotClass" if self.group else "VolumeSnapshotClass",
            metadata={"name": name, "labels": TENSORPLANE},
            fields={
                "driver": self.driver,
                "deletionPolicy": keeps,
                **({"parameters": dict(self.parameters)} if self.parameters else {}),
            },
            opts=opts,
        )
        return name
