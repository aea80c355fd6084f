"""Volumes whose claim somebody deleted: which, what has their bytes, and what the next update makes of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from components.base import retained_data
from driver import advice
from driver.kube import Kube
from driver.stack_settings import STACK
from embedded.fault import Fault

CLAIMS = "/api/v1/namespaces/{}/persistentvolumeclaims"
_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"

_Object = Mapping[str, Any]


@dataclass(frozen=True)
class Gone:
    """A claim that the stack's state has and the cluster has not, or not for long."""

    urn: str
    name: str
    declared: _Object | None
    """What the settings say of the volume; None where they do not name it any more."""
    volume: str | None
    """The PersistentVolume that has its bytes."""
    asked: bool = True
    """Whether PersistentVolumes could be asked for: not everybody may see them."""
    stack: str = STACK
    """Whose volume it is."""
    leaving: bool = False
    """Whether the claim is still there, until no pod mounts it."""

    @property
    def retained(self) -> bool:
        return self.declared is not None and self.declared.get("retain", True) is not False

    @property
    def lost(self) -> bool:
        """Whether an update would make an empty volume where the settings promise that its bytes are kept."""
        known = self.asked and not self.leaving
        return known and self.retained and self.volume is None and not (self.declared or {}).get("from")

    def __str__(self) -> str:
        if self.leaving:
            return (
                f"tensorplane:volumes.{self.name}: its claim was deleted and goes when no pod mounts it any more, "
                f"which cannot be undone; stop what mounts it, then {advice.see(self.stack)} makes it again"
            )
        what = f"tensorplane:volumes.{self.name}: its claim was deleted from the cluster"
        if self.lost:
            return (
                f"{what}, and no PersistentVolume has its bytes; begin it from a snapshot "
                f"(`{self._shown(self.name)}` lists them), from: {{snapshot: NAME}}, or empty: deploy it with "
                "retain: false first"
            )
        kept = f"PersistentVolume {self.volume} has its bytes"
        if self.declared is None:
            return f"{what}; {f'{kept}: ' if self.volume else ''}see `{self._shown()}`"
        if self.retained and self.volume:
            return f"{what}; {kept}, and {advice.see(self.stack)} binds a new claim to it"
        begins = "from what `from` names" if self.declared.get("from") else "empty"
        left = f"; {kept}: `{self._shown()}` brings it back" if self.volume else ""
        return f"{what}; {advice.see(self.stack)} makes it anew, {begins}{left}"

    def _shown(self, name: str = "") -> str:
        return advice.tensorplane(f"volumes {name}".strip(), self.stack)


def gone(export: _Object, namespace: str, declared: _Object, api: Kube, stack: str = STACK) -> list[Gone]:
    """Those of a namespace. `export` is what `pulumi stack export` prints, `declared` the volumes of the settings."""
    known = {
        name: one["urn"]
        for one in export["deployment"].get("resources") or ()
        if one["type"] == _CLAIM and not one.get("delete")
        for where, _, name in [str(one.get("id", "")).partition("/")]
        if where == namespace
    }
    live = {one["metadata"]["name"]: one for one in api.items(CLAIMS.format(namespace))} if known else {}
    lacking = [name for name in known if name not in live]
    volumes = _asked(api) if lacking else None
    return [
        *(
            Gone(known[name], name, _section(declared, name), None, stack=stack, leaving=True)
            for name in known
            if _leaves(live.get(name))
        ),
        *(
            Gone(
                known[name],
                name,
                _section(declared, name),
                _holder(volumes or (), namespace, name),
                asked=volumes is not None,
                stack=stack,
            )
            for name in lacking
        ),
    ]


def _leaves(claim: _Object | None) -> bool:
    return claim is not None and bool(claim["metadata"].get("deletionTimestamp"))


def _asked(api: Kube) -> list[dict[str, Any]] | None:
    try:
        return api.items("/api/v1/persistentvolumes")
    except Fault:
        return None


def missing(declared: _Object, namespace: str, api: Kube, stack: str = STACK) -> list[str]:
    """A line for each declared volume without a claim: it is not made yet, or somebody deleted it."""
    live = {one["metadata"]["name"]: one for one in api.items(CLAIMS.format(namespace))} if declared else {}
    lacking = [name for name in declared if name not in live]
    leaving = [
        str(Gone("", name, None, None, stack=stack, leaving=True)) for name in declared if _leaves(live.get(name))
    ]
    return leaving + told(declared, namespace, lacking, (_asked(api) or ()) if lacking else (), stack)


def told(
    declared: _Object, namespace: str, lacking: Iterable[str], volumes: Collection[_Object], stack: str = STACK
) -> list[str]:
    """The lines of volumes that lack a claim. Whether one ever had it, only its PersistentVolume tells."""
    made = f"{advice.see(stack)} makes it, or tells what became of it"
    return [
        str(Gone("", name, section, found, stack=stack))
        if (found := _holder(volumes, namespace, name)) and (section := _section(declared, name)) is not None
        else f"tensorplane:volumes.{name}: has no claim in the cluster; {made}"
        for name in lacking
    ]


def _holder(volumes: Iterable[_Object], namespace: str, name: str) -> str | None:
    found = retained_data.holder(volumes, namespace, name)
    return str(found["metadata"]["name"]) if found else None


def _section(declared: _Object, name: str) -> _Object | None:
    found = declared.get(name)
    return found if isinstance(found, Mapping) else None
