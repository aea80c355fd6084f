"""What a volume begins with: a snapshot, the bytes of another volume, or what a mirror has of one."""

from typing import Literal, Self

import pulumi
import pulumi_kubernetes as k8s
from pydantic import model_validator

from components.model import Filled, Model, Name, ObjectName, refuse

SNAPSHOT_GROUP = "snapshot.storage.k8s.io"
GROUP_SNAPSHOT_GROUP = "groupsnapshot.storage.k8s.io"


class FromMirror(Model):
    """The end of a mirror whose volume is in another cluster."""

    key_secret: ObjectName | None = None
    """Secret of the namespace with the key that both sides have, as `psk.txt`. VolSync makes one by default:
    volsync-rsync-tls-NAME."""
    expose: Literal["cluster", "loadBalancer"] = "loadBalancer"
    """How it is reached: at a load balancer, or at an address of this cluster that the other one can reach."""


class Source(Model):
    """One of the four. It counts when the volume is made, and stays in the settings as its origin."""

    snapshot: Filled | None = None
    """A VolumeSnapshot of the namespace, by its name: restore it."""
    volume: Name | None = None
    """A volume of these settings: clone it as it is at that moment."""
    mirror: FromMirror | None = None
    """A volume of another cluster that sends what changes, for as long as this is here. Pods mount it read-only."""

    mirror_of: Name | None = None
    """A volume that is mirrored, or was: the newest copy of it, whether the volume itself is still there or not."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self.model_fields_set) != 1:
            refuse("exactly one of snapshot, volume, mirror and mirrorOf")
        return self


def restored(snapshot: str) -> "k8s.core.v1.TypedLocalObjectReferenceArgsDict":
    """A snapshot, as a claim names it."""
    return {"api_group": SNAPSHOT_GROUP, "kind": "VolumeSnapshot", "name": snapshot}


def cloned(claim: pulumi.Input[str]) -> "k8s.core.v1.TypedLocalObjectReferenceArgsDict":
    """Another claim, as a claim names it."""
    return {"kind": "PersistentVolumeClaim", "name": claim}
