"""Repairs the state after a killed `pulumi up`, which leaves creates of unknown outcome. `locks.py` has its lock."""

from __future__ import annotations

from typing import Any


def settled(export: dict[str, Any]) -> dict[str, Any] | None:
    """A state whose pending operations a refresh can resolve; None if none is pending.

    `export` is what `pulumi stack export` prints. An object whose creation was started may or may not exist. It is
    entered as if it did, under the id from its inputs (generated names are in them too), because the refresh drops what
    it does not find. Objects that were being updated or deleted are in the state already.
    """
    deployment = export["deployment"]
    operations = deployment.get("pending_operations") or []
    if not operations:
        return None
    known = {resource["urn"] for resource in deployment.get("resources", [])}
    begun = [
        {**operation["resource"], "id": _object_id(operation["resource"].get("inputs", {}))}
        for operation in operations
        if operation["type"] == "creating" and operation["resource"]["type"].startswith("kubernetes:")
    ]
    found = [resource for resource in begun if resource["id"] and resource["urn"] not in known]
    # The engine starts a creation when its dependencies exist, so appending keeps the order of dependencies.
    resources = [*deployment.get("resources", []), *found]
    return {**export, "deployment": {**deployment, "resources": resources, "pending_operations": []}}


def _object_id(inputs: dict[str, Any]) -> str:
    # A Kubernetes object is identified by its metadata, a Helm release by its own fields.
    metadata = inputs.get("metadata") or inputs
    namespace, name = metadata.get("namespace"), metadata.get("name", "")
    return f"{namespace}/{name}" if namespace else str(name)
