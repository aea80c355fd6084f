"""The owners of an object's fields, as server-side apply records them in `metadata.managedFields`."""

from __future__ import annotations

import copy
from typing import Any

from tensorplane.core.gvk import GVK
from tensorplane.core.kube import JSON_PATCH
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes import paths

Object = dict[str, Any]
Fields = dict[str, Any]

CREATOR = "pulumi-kubernetes"
"""The field manager that creates objects; the first update hands their fields over to the state's manager."""

_PULUMI = ("pulumi-resource-kubernetes", CREATOR, f"{CREATOR}.exe")
# Managers whose fields the first apply takes over: those of this program's earlier writes, and kubectl.
_ABSORBED = {
    *((name, "Update") for name in _PULUMI),
    ("kubectl", "Apply"),
    ("kubectl", "Update"),
    ("before-first-apply", "Update"),
}


def absorb(live: Object, manager: str) -> list[Object] | None:
    """`managedFields` in which `manager` owns the created fields; None if there is nothing to hand over."""
    entries = live["metadata"].get("managedFields") or []
    taken = [entry for entry in entries if _is_absorbed(entry)]
    if not taken:
        return None
    remaining = [entry for entry in entries if not _is_absorbed(entry)]
    own = next(
        (e for e in remaining if e["manager"] == manager and e["operation"] == "Apply" and not _subresource(e)), None
    )
    fields: Fields = copy.deepcopy(own["fieldsV1"]) if own else {}
    for entry in taken:
        _merge(fields, entry.get("fieldsV1", {}))
    others = [entry for entry in remaining if entry is not own]
    base = own or taken[-1]
    return [*others, {**base, "manager": manager, "operation": "Apply", "fieldsV1": fields}]


def hand_over(api: Objects, live: Object, manager: str) -> Object:
    """Makes `manager` the owner of the created fields; the object itself does not change."""
    entries = absorb(live, manager)
    if entries is None:
        return live
    metadata = live["metadata"]
    # With the version in the patch, the server refuses it if the object changed since it was read.
    patch = [
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
    ]
    return api.patch(
        GVK.of(live),
        metadata["name"],
        metadata.get("namespace"),
        patch,
        manager=manager,
        content_type=JSON_PATCH,
    )


def relinquish(api: Objects, obj: Object, manager: str) -> None:
    """Gives up every field that `manager` owns: an apply of nothing."""
    metadata = obj["metadata"]
    identity = {key: metadata[key] for key in ("name", "namespace") if metadata.get(key)}
    api.apply({"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": identity}, manager=manager)


def must_force(obj: Object, live: Object | None, *, preview: bool) -> bool:
    """Whether an apply must force conflicts for reasons other than the user's choice, according to the records."""
    if live is None:
        return preview
    entries = live["metadata"].get("managedFields") or []
    if not entries:
        return True  # created before server-side apply: an unnamed manager owns everything
    return preview and any(e["operation"] == "Update" and e["manager"] in _PULUMI for e in entries)


def respect_ignored(obj: Object, live: Object, manager: str, ignore_changes: list[str]) -> None:
    """Leaves ignored fields as they are in the cluster.

    A field that only others own is not sent, so that there is no conflict and no shared ownership; any other is sent
    with its live value, because omitting an owned field would delete it.
    """
    ours: Fields = {}
    theirs: Fields = {}
    for entry in live["metadata"].get("managedFields") or []:
        _merge(ours if entry["manager"] == manager else theirs, entry.get("fieldsV1", {}))
    for text in ignore_changes:
        path = paths.parse(text)
        if _owns(theirs, path) and not _owns(ours, path):
            paths.remove(obj, path)
            continue
        found, value = paths.find(live, path)
        if found:
            paths.put(obj, path, copy.deepcopy(value))


def _is_absorbed(entry: Object) -> bool:
    return (entry["manager"], entry["operation"]) in _ABSORBED and not _subresource(entry)


def _subresource(entry: Object) -> str:
    return str(entry.get("subresource") or "")


def _merge(into: Fields, fields: Fields) -> None:
    for key, value in fields.items():
        _merge(into.setdefault(key, {}), value)


def _owns(fields: Fields, path: paths.Path) -> bool:
    for part in path:
        if f"f:{part}" not in fields:
            return False
        fields = fields[f"f:{part}"]
    return True
