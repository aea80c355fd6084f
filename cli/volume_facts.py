"""What a cluster's API answers about a stack's volumes, and how ages and sizes are told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from embedded.fault import Fault
from embedded.kube import Kube

Object = dict[str, Any]

_SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1"
_REPLICATION = "/apis/volsync.backube/v1alpha1"
_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


@dataclass(frozen=True)
class Facts:
    """Everything that the tables are made of."""

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
    """Bytes that a claim's volume holds, as the kubelets of the nodes that mount it say."""
    notes: Sequence[str] = ()
    """What could not be asked."""


def gather(api: Kube, namespace: str) -> Facts:
    """Asks a cluster. What somebody has no right to is left out, and a note says so."""
    notes: list[str] = []

    def asked(path: str) -> list[Object] | None:
        try:
            return api.items(path)
        except Fault as fault:
            notes.extend(fault.lines)
            return None

    inside = f"namespaces/{namespace}"
    pods = api.items(f"/api/v1/{inside}/pods")
    claims = api.items(f"/api/v1/{inside}/persistentvolumeclaims")
    contents = asked(f"{_SNAPSHOTS}/volumesnapshotcontents")
    # After their contents: what is taken meanwhile is no leftover.
    all_snapshots = asked(f"{_SNAPSHOTS}/volumesnapshots")
    return Facts(
        claims=claims,
        volumes=asked("/api/v1/persistentvolumes") or [],
        pods=pods,
        snapshots=asked(f"{_SNAPSHOTS}/{inside}/volumesnapshots") or [],
        # Without all snapshots, each content would look as if nothing had it any more.
        contents=[] if all_snapshots is None else contents or [],
        replications=asked(f"{_REPLICATION}/{inside}/replicationsources") or [],
        every_claim=frozenset(_named(one) for one in asked("/api/v1/persistentvolumeclaims") or claims),
        every_snapshot=frozenset(one["metadata"]["uid"] for one in all_snapshots or ()),
        used=dict(_used(api, namespace, pods)),
        notes=notes,
    )


def _named(thing: Object) -> str:
    return f"{thing['metadata']['namespace']}/{thing['metadata']['name']}"


def _used(api: Kube, namespace: str, pods: Sequence[Object]) -> Iterator[tuple[str, int]]:
    for node in sorted({pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}):
        # A simulated node has no kubelet, and not everybody may ask one: the table has a dash then.
        told = api.text(f"/api/v1/nodes/{node}/proxy/stats/summary")
        try:
            summary = json.loads(told)
        except ValueError:
            continue
        for pod in summary.get("pods", ()):
            for volume in pod.get("volume", ()):
                claim = volume.get("pvcRef") or {}
                if claim.get("namespace") == namespace and "usedBytes" in volume:
                    yield claim["name"], volume["usedBytes"]


def moment(text: str | None) -> datetime | None:
    """A time of the API's."""
    return datetime.fromisoformat(text) if text else None


def age(then: datetime | None, now: datetime) -> str:
    """How long ago, in the largest unit that fits twice: 90 min, 36 h, 14 d."""
    if then is None:
        return "-"
    seconds = max(int((now - then).total_seconds()), 0)
    unit, length = next((each for each in _UNITS if seconds >= 2 * each[1]), _UNITS[-1])
    return f"{seconds // length} {unit}"


def quantity(text: str | None) -> int | None:
    """Bytes of a quantity of Kubernetes'."""
    from kubernetes.utils import parse_quantity

    return int(parse_quantity(text)) if text else None


def size(count: int | None) -> str:
    """Bytes for people."""
    if count is None:
        return "-"
    for unit, length in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= length:
            return f"{count / length:.3g} {unit}" if count < 1000 * length else f"{count / length:.0f} {unit}"
    return f"{count} B"
