"""A stack's volumes and their snapshots, from the cluster's objects and the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tensorplane.agents.snapshots.manifest import REASON_LABEL, VOLUME_LABEL
from tensorplane.cli.api_values import Object, moment
from tensorplane.cli.commands.volumes.objects import VolumeObjects
from tensorplane.components.base.quantities import size_bytes
from tensorplane.components.volumes import backends
from tensorplane.embedded.csi.contract import AT_ANNOTATION, MIRROR_ANNOTATION

_MODE_ABBREVIATIONS = {
    "ReadWriteOnce": "RWO",
    "ReadWriteMany": "RWX",
    "ReadOnlyMany": "ROX",
    "ReadWriteOncePod": "RWOP",
}


@dataclass(frozen=True)
class Snapshot:
    """A snapshot of a volume."""

    name: str
    volume: str
    reason: str
    """Why it was taken: schedule, manual, before-change; a dash if tensorplane did not take it."""
    taken: datetime | None
    size: int | None
    ready: bool
    error: str | None = None


@dataclass(frozen=True)
class Mirror:
    """A volume's mirror."""

    to: str
    reached: datetime | None = None
    """The point in time of the copy."""
    command: str | None = None
    """The command that shows this time, if the cluster does not record it."""


@dataclass(frozen=True)
class Volume:
    """A volume in the cluster."""

    name: str
    storage: str
    """Its StorageClass, or where else it is."""
    phase: str
    access: tuple[str, ...]
    size: int | None
    used: int | None
    pods: tuple[str, ...]
    snapshots: tuple[Snapshot, ...]
    """The newest first."""
    mirror: Mirror | None
    protection: str


def volumes(objects: VolumeObjects, declared: Mapping[str, Any]) -> list[Volume]:
    """The claims of the stack's namespace, and deleted ones with snapshots; `declared`: the settings' volumes."""
    by_name = {one["metadata"]["name"]: one for one in objects.volumes}
    taken = snapshots(objects)
    live = [
        _volume(claim, by_name.get(claim["spec"].get("volumeName", "")), objects, taken, _section(declared, claim))
        for claim in objects.claims
    ]
    gone = {one.volume for one in taken} - {one.name for one in live}
    return sorted([*live, *(_gone(name, taken) for name in gone)], key=lambda one: one.name)


def snapshots(objects: VolumeObjects) -> list[Snapshot]:
    """The namespace's snapshots, the newest first."""
    found = [_snapshot(one) for one in objects.snapshots]
    return sorted(found, key=lambda one: (one.taken is not None, one.taken, one.name), reverse=True)


def _section(declared: Mapping[str, Any], claim: Object) -> Mapping[str, Any] | None:
    found = declared.get(claim["metadata"]["name"])
    return found if isinstance(found, dict) else None


def _volume(
    claim: Object,
    volume: Object | None,
    objects: VolumeObjects,
    taken: Sequence[Snapshot],
    declared: Mapping[str, Any] | None,
) -> Volume:
    name, spec, status = claim["metadata"]["name"], claim["spec"], claim.get("status", {})
    return Volume(
        name=name,
        storage=_storage(spec, volume),
        phase="Terminating" if claim["metadata"].get("deletionTimestamp") else status.get("phase", "Unknown"),
        access=tuple(_MODE_ABBREVIATIONS.get(mode, mode) for mode in spec.get("accessModes", ())),
        size=size_bytes(status.get("capacity", {}).get("storage") or spec["resources"]["requests"].get("storage")),
        used=objects.used.get(name),
        pods=tuple(sorted(pod["metadata"]["name"] for pod in objects.pods if _mounts(pod, name))),
        snapshots=tuple(one for one in taken if one.volume == name),
        mirror=_mirror(name, volume, objects, declared),
        protection=_protection(volume, declared),
    )


def _gone(name: str, taken: Sequence[Snapshot]) -> Volume:
    mine = tuple(one for one in taken if one.volume == name)
    return Volume(name, "-", "deleted", (), None, None, (), mine, None, "its snapshots")


def _storage(spec: Object, volume: Object | None) -> str:
    if spec.get("storageClassName"):
        return str(spec["storageClassName"])
    source = (volume or {}).get("spec", {})
    return next((str(source[kind].get("driver", kind)) for kind in ("csi", "nfs", "local") if kind in source), "-")


def _mounts(pod: Object, claim: str) -> bool:
    live = pod.get("status", {}).get("phase") in ("Pending", "Running")
    mounted = (one.get("persistentVolumeClaim", {}).get("claimName") for one in pod["spec"].get("volumes", ()))
    return live and claim in mounted


def _protection(volume: Object | None, declared: Mapping[str, Any] | None) -> str:
    """What keeps the data: the settings protect it, the volume outlives its claim, or neither."""
    if declared is not None and declared.get("retain", True):
        return "retained"
    setting = "not in the settings" if declared is None else "not retained"
    if volume is None:
        return setting
    retained = volume["spec"].get("persistentVolumeReclaimPolicy") == "Retain"
    return f"{setting}, data {'outlives' if retained else 'is deleted with'} the claim"


def _snapshot(one: Object) -> Snapshot:
    about, status = one["metadata"], one.get("status") or {}
    return Snapshot(
        name=about["name"],
        volume=one["spec"]["source"].get("persistentVolumeClaimName") or about.get("labels", {}).get(VOLUME_LABEL, "-"),
        reason=about.get("labels", {}).get(REASON_LABEL, "-"),
        taken=moment(status.get("creationTime") or about["creationTimestamp"]),
        size=size_bytes(status.get("restoreSize")),
        ready=bool(status.get("readyToUse")),
        error=(status.get("error") or {}).get("message"),
    )


def _mirror(
    name: str, volume: Object | None, objects: VolumeObjects, declared: Mapping[str, Any] | None
) -> Mirror | None:
    """The mirror according to the driver or VolSync; else to the settings, with a command that shows its lag."""
    annotations = ((volume or {}).get("metadata", {}).get("annotations")) or {}
    if MIRROR_ANNOTATION in annotations:
        return Mirror(annotations[MIRROR_ANNOTATION], moment(annotations.get(AT_ANNOTATION)))
    wanted = (declared or {}).get("mirror") or {}
    to = ", ".join(f"{way}: {target}" for way, target in (wanted.get("to") or {}).items())
    for one in objects.replications:
        if one["spec"].get("sourcePVC") == name:
            return Mirror(to or "VolSync", moment((one.get("status") or {}).get("lastSyncTime")))
    csi = (volume or {}).get("spec", {}).get("csi") or {}
    return Mirror(to, None, backends.mirror_command(csi)) if to else None
