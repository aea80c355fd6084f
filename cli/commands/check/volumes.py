"""Problems of volumes that only the cluster reveals: missing classes and snapshots, shrinking sizes, other origins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tensorplane.components.base import quantities
from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.base.produced import known
from tensorplane.components.base.quantities import size, size_bytes
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import immutable
from tensorplane.components.volumes.backends import embedded
from tensorplane.components.volumes.backends.storage_class import StorageClass
from tensorplane.components.volumes.capabilities import CSI
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.core.kube import Kube

_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
_SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1/namespaces/{}/volumesnapshots"
_CLAIMS = "/api/v1/namespaces/{}/persistentvolumeclaims"

Live = Mapping[str, Any]


def problems(volumes: Mapping[str, VolumeArgs], cluster: ClusterArgs, namespace: str, api: Kube) -> Iterator[Problem]:
    """A problem per contradiction. An existing volume keeps its class and origin, even if these no longer exist."""
    if not volumes:
        return
    claims = _by_name(api.items(_CLAIMS.format(namespace)))
    existing = {name: args for name, args in volumes.items() if name in claims}
    new = {name: args for name, args in volumes.items() if name not in claims}
    for name, args in existing.items():
        yield from _shrinking(name, args, claims[name])
        yield from changed_origins(name, args, claims[name], cluster)
    classes = {name: known(args.backend.name) for name, args in new.items() if isinstance(args.backend, StorageClass)}
    if any(classes.values()):
        yield from _unknown_classes(classes, sorted(_by_name(api.items(_CLASSES))))
    # A cloud's backup is not named like a VolumeSnapshot.
    restored = {
        name: args
        for name, args in new.items()
        if args.source and args.source.snapshot and args.backend_on(cluster).capabilities.snapshot == CSI
    }
    if restored:
        yield from _origins(restored, namespace, _by_name(api.items(_SNAPSHOTS.format(namespace))))


def _by_name(items: list[dict[str, Any]]) -> dict[str, Live]:
    return {one["metadata"]["name"]: one for one in items}


def _requested(args: VolumeArgs) -> int:
    """The size as in the claim: rounded up to a MiB."""
    return size_bytes(quantities.gibibytes(args.size_gib)) or 0


def _shrinking(name: str, args: VolumeArgs, claim: Live) -> Iterator[Problem]:
    has = size_bytes(claim["spec"]["resources"]["requests"].get("storage")) or 0
    # A volume that was not provisioned by a driver has a fixed size.
    if claim["spec"].get("storageClassName") and _requested(args) < has:
        reason = immutable.cannot_shrink(name, has)
        yield Problem(("volumes", name, "sizeGib"), reason)


def _unknown_classes(classes: Mapping[str, str | None], have: list[str]) -> Iterator[Problem]:
    for name, wanted in classes.items():
        if wanted and wanted not in have:
            reason = f"the cluster has no StorageClass {wanted!r}; {_choice(wanted, have)}"
            yield Problem(("volumes", name, "backend", "name"), reason)


def _origins(restored: Mapping[str, VolumeArgs], namespace: str, have: Mapping[str, Live]) -> Iterator[Problem]:
    for name, args in restored.items():
        origin = (args.source and args.source.snapshot) or ""
        at = ("volumes", name)
        if origin not in have:
            reason = f"namespace {namespace} has no VolumeSnapshot {origin!r}; {_choice(origin, have)}"
            yield Problem((*at, "from", "snapshot"), reason)
            continue
        held = size_bytes((have[origin].get("status") or {}).get("restoreSize")) or 0
        if _requested(args) < held:
            reason = f"snapshot {origin}, from which the volume is created, has {size(held)}"
            yield Problem((*at, "sizeGib"), f"{reason}; set sizeGib to {held / quantities.GIB:.12g} or more")


def _choice(wanted: str, have: Iterable[str]) -> str:
    names = sorted(have)
    return f"choose one of {', '.join(names)}{did_you_mean(wanted, names)}" if names else "create one first"


def changed_origins(name: str, args: VolumeArgs, claim: Mapping[str, Any], cluster: ClusterArgs) -> Iterator[Problem]:
    """A problem if the settings name another origin than the claim. Settings without one are always right."""
    able = args.backend_on(cluster).capabilities
    source = args.source
    if source is None:
        return
    began = claim["spec"].get("dataSource") or {}
    for key, wanted, kind, has in (
        ("snapshot", source.snapshot, "VolumeSnapshot", able.snapshot == CSI),
        ("volume", source.volume, "PersistentVolumeClaim", able.clone == CSI),
    ):
        # The claim does not record origins that a cloud implements outside the cluster.
        if wanted and has and (began.get("kind"), began.get("name")) != (kind, wanted):
            yield _too_late(name, key, wanted, _created(began))
    copied = claim["spec"].get("storageClassName") or ""
    if source.mirror_of and able.failover and not embedded.is_of_mirror(copied, source.mirror_of):
        yield _too_late(name, "mirrorOf", source.mirror_of, _created(began))


def _too_late(name: str, key: str, wanted: str, began: str) -> Problem:
    reason = f"volume {name} exists already and was created {began}, not from {wanted}"
    return Problem(("volumes", name, "from", key), f"{reason}; {immutable.REMEDY}")


def _created(began: Mapping[str, Any]) -> str:
    if not began:
        return "empty"
    kind = "snapshot" if began.get("kind") == "VolumeSnapshot" else "volume"
    return f"from {kind} {began.get('name')}"
