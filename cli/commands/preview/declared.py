"""What the steps of a preview declare: components, pods, what volumes start with, admission policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tensorplane.cli.commands.preview import pods
from tensorplane.cli.commands.preview.pods import Pods
from tensorplane.cli.commands.preview.report import OURS, Outputs
from tensorplane.components.base import outputs
from tensorplane.driver.runs.job_set import plain

_ADMISSION = ":ValidatingAdmissionPolicy"

Step = Mapping[str, Any]


@dataclass
class Declared:
    """Collects step by step; the last step of each resource counts."""

    components: dict[str, dict[str, tuple[Outputs, Outputs]]] = field(default_factory=dict)
    """By type and name: inputs before and after the update."""
    _pods: dict[tuple[str, str], list[Pods]] = field(default_factory=dict)
    _volumes: dict[str, dict[str, Resource]] = field(default_factory=dict)
    _admission: dict[str, bool] = field(default_factory=dict)
    unprotected: dict[str, None] = field(default_factory=dict)
    """Resources that nothing protects from deletion any more, as type and name. Volumes have words of their own."""

    def note(self, step: Step) -> None:
        """Adds what one step declares."""
        name = step["urn"].rpartition("::")[2]
        if step["type"].startswith(OURS):
            old, new = ((state or {}).get("inputs") or {} for state in (step.get("old"), step.get("new")))
            self.components.setdefault(step["type"], {})[name] = old, {} if step["op"] == "delete" else new
        if _loses_protection(step):
            self.unprotected[f"{step['type'].rpartition(':')[2]} {name}"] = None
        if step["type"].endswith(_ADMISSION):
            self._admission[name] = step["op"] != "delete"
        if volume := volume_of(step):
            resource = step["type"], (step.get("new") or {}).get("inputs") or {}
            self._volumes.setdefault(volume, {})[step["urn"]] = resource
        found: dict[str, list[Pods]] = {}
        for side, each in pods.of(step):
            found.setdefault(side, []).append(each)
        self._pods |= {(side, step["urn"]): several for side, several in found.items()}

    def pods(self, side: str) -> tuple[Pods, ...]:
        """All pods before (`old`) or after (`new`) the update."""
        return tuple(each for (of, _), found in sorted(self._pods.items()) if of == side for each in found)

    @property
    def starts(self) -> dict[str, str]:
        """What each volume starts with."""
        return {name: volume_origin(resources.values()) for name, resources in self._volumes.items()}

    @property
    def admission(self) -> tuple[str, ...]:
        """Names of the ValidatingAdmissionPolicies after the update."""
        return tuple(sorted(name for name, stays in self._admission.items() if stays))


def _loses_protection(step: Step) -> bool:
    """Whether a resource stays, and what kept it, or its data, does not."""
    old, new = step.get("old") or {}, step.get("new") or {}
    stays = bool(new) and step["op"] in ("same", "update") and f"{outputs.VOLUME}$" not in step["urn"]
    return stays and any(old.get(key) and not new.get(key) for key in ("protect", "retainOnDelete"))


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


def volume_origin(resources: Iterable[Resource]) -> str:
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
