"""What a volume begins with: a snapshot, or the bytes of another volume."""

from typing import Self

import pulumi
import pulumi_kubernetes as k8s
from pydantic import model_validator

from components.model import Filled, Model, Name, refuse

SNAPSHOT_GROUP = "snapshot.storage.k8s.io"


class Source(Model):
    """One of the two. It counts when the volume is made, and stays in the settings as its origin."""

    snapshot: Filled | None = None
    """A VolumeSnapshot of the namespace, by its name: restore it."""
    volume: Name | None = None
    """A volume of these settings: clone it as it is at that moment."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.snapshot is None) == (self.volume is None):
            refuse("either snapshot or volume")
        return self


def restored(snapshot: str) -> k8s.core.v1.TypedLocalObjectReferenceArgsDict:
    """A snapshot, as a claim names it."""
    return {"api_group": SNAPSHOT_GROUP, "kind": "VolumeSnapshot", "name": snapshot}


def cloned(claim: pulumi.Input[str]) -> k8s.core.v1.TypedLocalObjectReferenceArgsDict:
    """Another claim, as a claim names it."""
    return {"kind": "PersistentVolumeClaim", "name": claim}
