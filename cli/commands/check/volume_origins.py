"""A `from` that was changed after the volume was created."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components.base.problems import Problem
from components.clusters.settings import ClusterArgs
from components.volumes import immutable
from components.volumes.backends import embedded
from components.volumes.capabilities import CSI
from components.volumes.settings import VolumeArgs


def faults(name: str, args: VolumeArgs, claim: Mapping[str, Any], cluster: ClusterArgs) -> Iterator[Problem]:
    """A fault if the settings name another origin than the claim. Settings without one are always right."""
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
