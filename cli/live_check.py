"""What is wrong with a stack's volumes that only its cluster knows: classes, snapshots and sizes that are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cli.volume_facts import quantity, size
from components import quantity as spelled
from components.cluster import ClusterArgs
from components.faults import Fault, did_you_mean
from components.volume import VolumeArgs
from components.volume.backends.storage_class import StorageClass
from components.volume.capabilities import CSI
from embedded.kube import Kube

_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
_SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1/namespaces/{}/volumesnapshots"
_CLAIMS = "/api/v1/namespaces/{}/persistentvolumeclaims"

Live = Mapping[str, Any]


def faults(volumes: Mapping[str, VolumeArgs], cluster: ClusterArgs, namespace: str, api: Kube) -> Iterator[Fault]:
    """One for each mistake. A volume that is there already has its class and origin, whatever became of them."""
    if not volumes:
        return
    claims = _by_name(api.items(_CLAIMS.format(namespace)))
    made = {name: args for name, args in volumes.items() if name in claims}
    new = {name: args for name, args in volumes.items() if name not in claims}
    for name, args in made.items():
        yield from _shrinking(name, args, claims[name])
    named = {name: args.backend.name for name, args in new.items() if isinstance(args.backend, StorageClass)}
    if any(named.values()):
        yield from _unknown_classes(named, sorted(_by_name(api.items(_CLASSES))))
    # A cloud's backup has another name than a VolumeSnapshot.
    begun = {
        name: args
        for name, args in new.items()
        if args.source and args.source.snapshot and args.backend_on(cluster).capabilities.snapshot == CSI
    }
    if begun:
        yield from _origins(begun, namespace, _by_name(api.items(_SNAPSHOTS.format(namespace))))


def _by_name(items: list[dict[str, Any]]) -> dict[str, Live]:
    return {one["metadata"]["name"]: one for one in items}


def _asked(args: VolumeArgs) -> int:
    """The size as the claim says it: rounded up to a MiB."""
    return quantity(spelled.gibibytes(args.size_gib)) or 0


def _shrinking(name: str, args: VolumeArgs, claim: Live) -> Iterator[Fault]:
    has = quantity(claim["spec"]["resources"]["requests"].get("storage")) or 0
    # What no driver made has a size that nobody changes.
    if claim["spec"].get("storageClassName") and _asked(args) < has:
        reason = f"got {args.size_gib:g}, and a volume never shrinks: it has {size(has)}"
        yield Fault(("volumes", name, "sizeGib"), reason)


def _unknown_classes(named: Mapping[str, str | None], have: list[str]) -> Iterator[Fault]:
    for name, wanted in named.items():
        if wanted and wanted not in have:
            told = ", ".join(have) or "none"
            reason = f"the cluster has no StorageClass {wanted!r}, have {told}{did_you_mean(wanted, have)}"
            yield Fault(("volumes", name, "backend", "name"), reason)


def _origins(begun: Mapping[str, VolumeArgs], namespace: str, have: Mapping[str, Live]) -> Iterator[Fault]:
    for name, args in begun.items():
        origin = (args.source and args.source.snapshot) or ""
        at = ("volumes", name)
        if origin not in have:
            told = ", ".join(sorted(have)) or "none"
            reason = f"namespace {namespace} has no VolumeSnapshot {origin!r}, have {told}{did_you_mean(origin, have)}"
            yield Fault((*at, "from", "snapshot"), reason)
            continue
        held = quantity((have[origin].get("status") or {}).get("restoreSize")) or 0
        if _asked(args) < held:
            reason = f"got {args.size_gib:g}, need at least the {size(held)} of snapshot {origin}, which it begins as"
            yield Fault((*at, "sizeGib"), reason)
