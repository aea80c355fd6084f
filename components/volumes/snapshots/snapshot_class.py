"""Classes of snapshots: what a driver is told about those of one stack, and whether deleting one deletes its bytes."""

from dataclasses import dataclass
from typing import Literal

import pulumi

from components.base import names
from components.base.custom_resource import TopLevelResource
from components.base.labels import TENSORPLANE
from components.volumes.source import GROUP_SNAPSHOT_GROUP, SNAPSHOT_GROUP


@dataclass(frozen=True)
class SnapshotClass:
    """Volumes of whose snapshots a driver is told the same share one."""

    driver: str
    parameters: tuple[tuple[str, str], ...] = ()
    group: bool = False
    """Whether it is of snapshots of several volumes at one instant."""
    existing: str | None = None
    """Name of one that the cluster has, which is used as it is."""

    def name(self, prefix: str) -> str:
        """Named by its content, as nothing can be changed in one that snapshots name."""
        if self.existing:
            return self.existing
        if not self.parameters:
            return f"{prefix}-{self.driver}"
        return f"{prefix}-{self.driver}-{names.digest_of(self.parameters)}"

    def create(self, prefix: str, *, keeps: Literal["Retain", "Delete"], opts: pulumi.ResourceOptions) -> str:
        """The object, and its name. With `Retain`, the bytes outlive a deleted VolumeSnapshot or namespace."""
        name = self.name(prefix)
        if self.existing:
            return name
        TopLevelResource(
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
