"""Volumes whose claim somebody deleted: which they are, what holds their data, what the next update does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from components.base import retained_data
from core.errors import UserError
from core.kube import Kube
from driver import advice
from driver.stack_settings import STACK

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
                f"mount it; stop these pods, then run {advice.restore(self.stack)} to create the claim again"
            )
        problem = f"tensorplane:volumes.{self.name}: its claim was deleted from the cluster"
        if self.lost:
            return (
                f"{problem}, and no PersistentVolume has its data; restore a snapshot "
                f"(`{self._shown(self.name)}` lists them) with from: {{snapshot: NAME}}, or deploy it with "
                "retain: false to create an empty volume"
            )
        kept = f"PersistentVolume {self.volume} has its data"
        if self.declared is None:
            return f"{problem}{f', and {kept}' if self.volume else ''}; see `{self._shown()}`"
        if self.retained and self.volume:
            return f"{problem}, and {kept}; run {advice.restore(self.stack)} to bind a new claim to it"
        content = "from what `from` names" if self.declared.get("from") else "empty"
        left = f"; {kept}, and `{self._shown()}` shows how to restore it" if self.volume else ""
        return f"{problem}; run {advice.restore(self.stack)} to create it again, {content}{left}"

    def _shown(self, name: str = "") -> str:
        return advice.tensorplane(f"volumes {name}".strip(), self.stack)


def list_deleted(export: Object, namespace: str, declared: Object, api: Kube, stack: str = STACK) -> list[DeletedClaim]:
    """Deleted claims of a namespace. `export`: what `pulumi stack export` prints. `declared`: the settings' volumes."""
    known = {
        name: one["urn"]
        for one in export["deployment"].get("resources") or ()
        if one["type"] == _CLAIM_TYPE and not one.get("delete")
        for where, _, name in [str(one.get("id", "")).partition("/")]
        if where == namespace
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
    remedy = f"run {advice.restore(stack)} to create it"
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
