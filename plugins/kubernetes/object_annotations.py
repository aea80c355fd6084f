"""Pulumi's annotations on Kubernetes objects: a program's requests to the provider for one object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

AUTONAMED = "pulumi.com/autonamed"
PATCH_FORCE = "pulumi.com/patchForce"
PATCH_FIELD_MANAGER = "pulumi.com/patchFieldManager"
DELETION_PROPAGATION = "pulumi.com/deletionPropagationPolicy"
SKIP_AWAIT = "pulumi.com/skipAwait"
REPLACE_UNREADY = "pulumi.com/replaceUnready"


def value(obj: Mapping[str, Any], key: str) -> str:
    """An annotation's value; empty if it is absent or not known yet."""
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    found = annotations.get(key) if isinstance(annotations, dict) else None
    return found if isinstance(found, str) else ""


def is_true(obj: Mapping[str, Any], key: str) -> bool:
    return value(obj, key) == "true"


def set_true(obj: dict[str, Any], key: str) -> None:
    """Sets an annotation, unless the annotations are not known yet."""
    metadata = obj.setdefault("metadata", {})
    if isinstance(metadata, dict):
        annotations = metadata.setdefault("annotations", {})
        if isinstance(annotations, dict):
            annotations[key] = "true"


def propagation(obj: Mapping[str, Any]) -> str:
    """The deletion's propagation policy: Foreground unless the annotation says otherwise."""
    policies = {"orphan": "Orphan", "background": "Background"}
    return policies.get(value(obj, DELETION_PROPAGATION).lower(), "Foreground")
