"""What a volume starts with, from the resources that its component declares. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from components.base import outputs
from driver.runs.job_set import plain

_OF_VOLUME = f"{outputs.VOLUME}$"
_KUBERNETES = "kubernetes:"
_CLAIM = ":PersistentVolumeClaim"

Resource = tuple[str, Mapping[str, Any]]
"""Type and inputs."""


def volume_of(step: Mapping[str, Any]) -> str:
    """The volume to which the resource of one of the engine's steps belongs; empty if it belongs to none."""
    if _OF_VOLUME not in step["urn"] or step["op"] == "delete" or not step.get("new"):
        return ""
    parent = (step.get("new") or {}).get("parent") or ""
    # The claim has the volume's name.
    return str((step["urn"] if step["type"].endswith(_CLAIM) else parent).rpartition("::")[2])


def start(resources: Iterable[Resource]) -> str:
    """What a volume with these resources starts with: `a copy of volume a`; empty if with nothing."""
    found = list(resources)
    spec = next((plain(inputs.get("spec")) for token, inputs in found if token.endswith(_CLAIM)), {})
    source = plain(spec.get("dataSource")) or plain(spec.get("dataSourceRef"))
    if source:
        kind = "volume" if source.get("kind") == "PersistentVolumeClaim" else str(source.get("kind"))
        return f"a copy of {kind} {source.get('name')}"
    if any(token.endswith(":ReplicationDestination") for token, _ in found):
        return "what its mirror sends"
    for token, inputs in found:
        if token.endswith(":StorageClass") and (origin := plain(inputs.get("parameters")).get("mirrorOf")):
            return f"the newest copy of the mirror of volume {origin}"
    if spec.get("volumeName") and all(token.startswith(_KUBERNETES) for token, _ in found):
        return "whatever its existing storage has"
    return ""
