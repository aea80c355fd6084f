"""What a volume is restored or cloned from: a snapshot, another volume, or a mirror."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from tensorplane.components.base.model import In, Model, Name, NonEmptyStr, ObjectName, refuse_all_but
from tensorplane.components.base.sdk import k8s, pulumi

SNAPSHOT_GROUP = "snapshot.storage.k8s.io"
GROUP_SNAPSHOT_GROUP = "groupsnapshot.storage.k8s.io"


class FromMirror(Model):
    """The receiving end of a mirror from another cluster."""

    key_secret: In[ObjectName] | None = None
    """Secret of the namespace with the pre-shared key of both clusters, as `psk.txt`. VolSync creates
    volsync-rsync-tls-NAME by default."""
    expose: Literal["cluster", "loadBalancer"] = "loadBalancer"
    """How the other cluster reaches it: through a load balancer, or at a cluster address that it can route to."""


class Source(Model):
    """Exactly one of these. It applies when the volume is created, and is kept in the settings as a record."""

    snapshot: NonEmptyStr | None = None
    """Name of a VolumeSnapshot in the namespace, to restore."""
    volume: Name | None = None
    """Another volume of this stack, to clone in its current state."""
    mirror: FromMirror | None = None
    """A volume of another cluster that is mirrored to this one while this is set. Pods mount it read-only."""

    mirror_of: Name | None = None
    """A volume with a mirror, even if the volume itself is lost. The new volume starts with the mirror's newest copy.
    """

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self.model_fields_set) != 1:
            refuse_all_but("exactly one of snapshot, volume, mirror and mirrorOf")
        return self


def restored(snapshot: str) -> k8s.core.v1.TypedLocalObjectReferenceArgsDict:
    """A snapshot, as the data source of a claim."""
    return {"api_group": SNAPSHOT_GROUP, "kind": "VolumeSnapshot", "name": snapshot}


def cloned(claim: pulumi.Input[str]) -> k8s.core.v1.TypedLocalObjectReferenceArgsDict:
    """Another claim, as the data source of a claim."""
    return {"kind": "PersistentVolumeClaim", "name": claim}
