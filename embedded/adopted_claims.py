"""Brings a stack's state up to date with claims that the cluster's start moved into its pool of volumes."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from embedded.cluster import csi

_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
_VOLUME = "kubernetes:core/v1:PersistentVolume"

_Object = dict[str, Any]


def brought_up_to_date(export: _Object, claims: Iterable[_Object]) -> _Object | None:
    """The state as if its claims had been made in the pool; None where none of them was moved since.

    `export` is what `pulumi stack export` prints, `claims` are the cluster's. The volumes of before are no more, and
    those in the pool are the provisioner's: neither is the stack's.
    """
    live = {f"{one['metadata']['namespace']}/{one['metadata']['name']}": one for one in claims}
    resources = export["deployment"].get("resources") or []
    moved = {found["urn"]: live[found["id"]] for found in resources if _was_moved(found, live)}
    if not moved:
        return None
    volumes = {found["inputs"]["spec"]["volumeName"] for found in resources if found["urn"] in moved}
    gone = {found["urn"] for found in resources if found["type"] == _VOLUME and found["id"] in volumes}
    kept = [
        _without(_moved(found, moved[found["urn"]]) if found["urn"] in moved else found, gone)
        for found in resources
        if found["urn"] not in gone
    ]
    return {**export, "deployment": {**export["deployment"], "resources": kept}}


def _was_moved(resource: _Object, live: Mapping[str, _Object]) -> bool:
    if resource["type"] != _CLAIM or resource.get("delete") or resource.get("id") not in live:
        return False
    before, now = resource["inputs"]["spec"], live[resource["id"]]["spec"]
    return bool(before.get("storageClassName") == "" and now.get("storageClassName") == csi.CLASS)


def _moved(resource: _Object, live: _Object) -> _Object:
    resource = copy.deepcopy(resource)
    outputs = resource["outputs"]
    for inputs in (resource["inputs"], outputs.get("__inputs", {})):
        spec = inputs.get("spec", {})
        spec["storageClassName"] = csi.CLASS
        spec.pop("volumeName", None)
    return {**resource, "outputs": {**outputs, **{key: live[key] for key in ("metadata", "spec", "status")}}}


def _without(resource: _Object, gone: set[str]) -> _Object:
    """The resource without what it depends on that is gone: the engine refuses a state that names it."""
    by_property = resource.get("propertyDependencies") or {}
    return {
        **resource,
        **({"dependencies": _less(resource["dependencies"], gone)} if resource.get("dependencies") else {}),
        **(
            {"propertyDependencies": {key: _less(urns, gone) for key, urns in by_property.items()}}
            if by_property
            else {}
        ),
    }


def _less(urns: list[str] | None, gone: set[str]) -> list[str]:
    return [urn for urn in urns or [] if urn not in gone]
