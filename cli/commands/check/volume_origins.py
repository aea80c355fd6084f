"""A `from` that comes too late: the volume exists already and was created from something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components.base.faults import Fault
from components.clusters.settings import ClusterArgs
from components.volumes import immutable
from components.volumes.backends import embedded
from components.volumes.capabilities import CSI
from components.volumes.settings import VolumeArgs


def faults(name: str, args: VolumeArgs, claim: Mapping[str, Any], cluster: ClusterArgs) -> Iterator[Fault]:
    """A fault where the settings name another origin than the claim. Settings that name none are always right."""
    able = args.backend_on(cluster).capabilities
    source = args.source
    if source is None:
        return
    began = claim["spec"].get("dataSource") or {}
    for key, wanted, kind, has in (
        ("snapshot", source.snapshot, "VolumeSnapshot", able.snapshot == CSI),
        ("volume", source.volume, "PersistentVolumeClaim", able.clone == CSI),
    ):
        # Of what a cloud makes beside the cluster, the claim says nothing.
        if wanted and has and (began.get("kind"), began.get("name")) != (kind, wanted):
            yield _too_late(name, key, wanted, _created(began))
    copied = claim["spec"].get("storageClassName") or ""
    if source.mirror_of and able.failover and not embedded.is_of_mirror(copied, source.mirror_of):
        yield _too_late(name, "mirrorOf", source.mirror_of, _created(began))


def _too_late(name: str, key: str, wanted: str, began: str) -> Fault:
    reason = f"volume {name} exists already and was created {began}, not from {wanted}"
    return Fault(("volumes", name, "from", key), f"{reason}; {immutable.REMEDY}")


def _created(began: Mapping[str, Any]) -> str:
    if not began:
        return "empty"
    kind = "snapshot" if began.get("kind") == "VolumeSnapshot" else "volume"
    return f"from {kind} {began.get('name')}"
