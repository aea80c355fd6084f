"""Claims of a stack's volumes in the cluster: which somebody deleted, what holds their data, how much they hold."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensorplane.components.base import quantities, retained_data
from tensorplane.core import command_lines
from tensorplane.core.command_lines import STACK
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube

CLAIMS = "/api/v1/namespaces/{}/persistentvolumeclaims"
_CLAIM_TYPE = "kubernetes:core/v1:PersistentVolumeClaim"

Object = Mapping[str, Any]


@dataclass(frozen=True)
class DeletedClaim:
    """A claim in the stack's state that the cluster has deleted or is deleting."""

    urn: str
    name: str
    declared: Object | None
    """The volume's settings; None if it is no longer declared."""
    volume: str | None
    """The PersistentVolume that holds its data."""
    volumes_listed: bool = True
    """Whether PersistentVolumes could be listed: that takes a permission."""
    stack: str = STACK
    """The stack that declares the volume."""
    terminating: bool = False
    """Whether the claim still exists because a pod mounts it."""

    @property
    def retained(self) -> bool:
        return self.declared is not None and self.declared.get("retain", True) is not False

    @property
    def lost(self) -> bool:
        """Whether an update would create an empty volume although the settings retain its data."""
        known = self.volumes_listed and not self.terminating
        return known and self.retained and self.volume is None and not (self.declared or {}).get("from")

    def __str__(self) -> str:
        if self.terminating:
            return (
                f"tensorplane:volumes.{self.name}: its claim is being deleted, which cannot be undone, but pods still "
                f"mount it; stop these pods, then run {command_lines.restore(self.stack)} to create the claim again"
            )
        problem = f"tensorplane:volumes.{self.name}: its claim was deleted from the cluster"
        if self.lost:
            return (
                f"{problem}, and no PersistentVolume has its data; restore a snapshot "
                f"(`{self._shown(self.name)}` lists them) with from: {{snapshot: NAME}}, or deploy it with "
                "retain: false to create an empty volume"
            )
        has_data = f"PersistentVolume {self.volume} has its data"
        if self.declared is None:
            return f"{problem}{f', and {has_data}' if self.volume else ''}; see `{self._shown()}`"
        if self.retained and self.volume:
            return f"{problem}, and {has_data}; run {command_lines.restore(self.stack)} to bind a new claim to it"
        content = "from what `from` names" if self.declared.get("from") else "empty"
        left = f"; {has_data}, and `{self._shown()}` shows how to restore it" if self.volume else ""
        return f"{problem}; run {command_lines.restore(self.stack)} to create it again, {content}{left}"

    def _shown(self, name: str = "") -> str:
        return command_lines.tensorplane(f"volumes {name}".strip(), self.stack)


def list_deleted(export: Object, namespace: str, declared: Object, api: Kube, stack: str = STACK) -> list[DeletedClaim]:
    """Deleted claims of a namespace. `export`: what `pulumi stack export` prints. `declared`: the settings' volumes."""
    known = {
        name: one["urn"]
        for one in export["deployment"].get("resources") or ()
        if one["type"] == _CLAIM_TYPE and not one.get("delete")
        for of_namespace, _, name in [str(one.get("id", "")).partition("/")]
        if of_namespace == namespace
    }
    live = {one["metadata"]["name"]: one for one in api.items(CLAIMS.format(namespace))} if known else {}
    absent = [name for name in known if name not in live]
    volumes = _persistent_volumes(api) if absent else None
    return [
        *(
            DeletedClaim(known[name], name, _section(declared, name), None, stack=stack, terminating=True)
            for name in known
            if _is_terminating(live.get(name))
        ),
        *(
            DeletedClaim(
                known[name],
                name,
                _section(declared, name),
                _holder(volumes or (), namespace, name),
                volumes_listed=volumes is not None,
                stack=stack,
            )
            for name in absent
        ),
    ]


def _is_terminating(claim: Object | None) -> bool:
    return claim is not None and bool(claim["metadata"].get("deletionTimestamp"))


def _persistent_volumes(api: Kube) -> list[dict[str, Any]] | None:
    try:
        return api.items("/api/v1/persistentvolumes")
    except UserError:
        return None


def find_missing(declared: Object, namespace: str, api: Kube, stack: str = STACK) -> list[str]:
    """A line for each declared volume without a claim: it was never created, or somebody deleted it."""
    live = {one["metadata"]["name"]: one for one in api.items(CLAIMS.format(namespace))} if declared else {}
    absent = [name for name in declared if name not in live]
    terminating = [
        str(DeletedClaim("", name, None, None, stack=stack, terminating=True))
        for name in declared
        if _is_terminating(live.get(name))
    ]
    return terminating + describe_missing(
        declared, namespace, absent, (_persistent_volumes(api) or ()) if absent else (), stack
    )


def describe_missing(
    declared: Object, namespace: str, absent: Iterable[str], volumes: Collection[Object], stack: str = STACK
) -> list[str]:
    """The lines of volumes without a claim. Only a PersistentVolume shows that one had a claim before."""
    remedy = f"run {command_lines.restore(stack)} to create it"
    return [
        str(DeletedClaim("", name, section, found, stack=stack))
        if (found := _holder(volumes, namespace, name)) and (section := _section(declared, name)) is not None
        else f"tensorplane:volumes.{name}: has no claim in the cluster; {remedy}"
        for name in absent
    ]


def _holder(volumes: Iterable[Object], namespace: str, name: str) -> str | None:
    found = retained_data.holder(volumes, namespace, name)
    return str(found["metadata"]["name"]) if found else None


def _section(declared: Object, name: str) -> Object | None:
    found = declared.get(name)
    return found if isinstance(found, Mapping) else None


def need_cluster(declared: Mapping[str, Any], claims: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a volume names a class or an origin, or is smaller than its claim. The settings alone decide the rest.

    `declared` are the volumes of the settings, `claims` those of the stack's namespace.
    """
    live = {one["metadata"]["name"]: one for one in claims}
    return any(
        "from" in volume or "name" in (volume.get("backend") or {}) or _shrinks(volume, live.get(name))
        for name, volume in declared.items()
        if isinstance(volume, dict)
    )


def _shrinks(volume: Mapping[str, Any], claim: Mapping[str, Any] | None) -> bool:
    wanted = volume.get("sizeGib")
    if claim is None or not isinstance(wanted, int | float):
        return False
    has = claim["spec"]["resources"]["requests"].get("storage", "0")
    # A claim's size is rounded up; the check against the cluster compares to the MiB.
    return bool(wanted * quantities.GIB < quantities.exact(has))


def used_bytes(api: Kube, namespace: str, pods: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """Claims and their bytes. `pods` are those of the namespace."""
    for node in sorted({pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}):
        # A simulated node has no kubelet, and asking one takes a permission.
        text = api.text(f"/api/v1/nodes/{node}/proxy/stats/summary")
        try:
            summary = json.loads(text)
        except ValueError:
            continue
        for pod in summary.get("pods", ()):
            for volume in pod.get("volume", ()):
                claim = volume.get("pvcRef") or {}
                if claim.get("namespace") == namespace and "usedBytes" in volume:
                    yield claim["name"], volume["usedBytes"]
