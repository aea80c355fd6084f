"""What a cluster's API answers about a stack's volumes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tensorplane.cli.api_values import Object
from tensorplane.core.kube import Kube, ReadableLists
from tensorplane.driver import claims as volume_use

_SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1"
_REPLICATION = "/apis/volsync.backube/v1alpha1"


@dataclass(frozen=True)
class VolumeObjects:
    """The data of the tables."""

    claims: Sequence[Object] = ()
    """Claims of the stack's namespace."""
    volumes: Sequence[Object] = ()
    """PersistentVolumes of the cluster."""
    pods: Sequence[Object] = ()
    snapshots: Sequence[Object] = ()
    contents: Sequence[Object] = ()
    """VolumeSnapshotContents of the cluster."""
    replications: Sequence[Object] = ()
    """VolSync's ReplicationSources."""
    every_claim: frozenset[str] = frozenset()
    """Claims of all namespaces, as namespace/name."""
    every_snapshot: frozenset[str] = frozenset()
    """The UIDs of the VolumeSnapshots of all namespaces."""
    used: dict[str, int] = field(default_factory=dict)
    """Used bytes of a claim's volume, according to the kubelets of the nodes that mount it."""
    notes: Sequence[str] = ()
    """What could not be read."""


def gather(api: Kube, namespace: str) -> VolumeObjects:
    """Asks a cluster. What the user may not read is left out, with a note."""
    lists = ReadableLists(api)
    inside = f"namespaces/{namespace}"
    pods = api.items(f"/api/v1/{inside}/pods")
    claims = api.items(f"/api/v1/{inside}/persistentvolumeclaims")
    contents = lists.read(f"{_SNAPSHOTS}/volumesnapshotcontents")
    # After their contents, so that a snapshot taken meanwhile does not look like a leftover.
    all_snapshots = lists.read(f"{_SNAPSHOTS}/volumesnapshots")
    return VolumeObjects(
        claims=claims,
        volumes=lists.read("/api/v1/persistentvolumes") or [],
        pods=pods,
        snapshots=lists.read(f"{_SNAPSHOTS}/{inside}/volumesnapshots") or [],
        # Without a list of all snapshots, each content would look like a leftover.
        contents=[] if all_snapshots is None else contents or [],
        replications=lists.read(f"{_REPLICATION}/{inside}/replicationsources") or [],
        every_claim=frozenset(_full_name(one) for one in lists.read("/api/v1/persistentvolumeclaims") or claims),
        every_snapshot=frozenset(one["metadata"]["uid"] for one in all_snapshots or ()),
        used=dict(volume_use.used_bytes(api, namespace, pods)),
        notes=lists.notes,
    )


def _full_name(thing: Object) -> str:
    return f"{thing['metadata']['namespace']}/{thing['metadata']['name']}"
