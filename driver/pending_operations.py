"""Mends what a killed `pulumi up` leaves in the state: creates of unknown outcome. Its lock is another file's."""

from __future__ import annotations

from typing import Any


def settled(export: dict[str, Any]) -> dict[str, Any] | None:
    """A state whose pending operations are ready to be looked up by a refresh; None where none is pending.

    `export` is what `pulumi stack export` prints. An object whose creation was begun may exist or not. It is entered as
    if it did, under the id that its inputs tell (also where Pulumi chose the name), for the refresh drops what it does
    not find. What was being changed or deleted is in the state already.
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
    # The engine begins a creation when what it depends on exists, so at the end each comes after its dependencies.
    resources = [*deployment.get("resources", []), *found]
    return {**export, "deployment": {**deployment, "resources": resources, "pending_operations": []}}


def _object_id(inputs: dict[str, Any]) -> str:
    # A Kubernetes object is known by its metadata, a Helm release by its own fields.
    metadata = inputs.get("metadata") or inputs
    namespace, name = metadata.get("namespace"), metadata.get("name", "")
    return f"{namespace}/{name}" if namespace else str(name)
