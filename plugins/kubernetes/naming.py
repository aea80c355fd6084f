"""Names of objects: Pulumi's automatic names, and the ids `namespace/name`."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from pulumi.runtime.proto import provider_pb2

from tensorplane.core.errors import UserError
from tensorplane.plugins.kubernetes import object_annotations
from tensorplane.plugins.kubernetes.values import Unknown

Object = dict[str, Any]

_MODES = provider_pb2.CheckRequest.AutonamingOptions


def unique(prefix: str, seed: bytes = b"") -> str:
    """`prefix` and eight hex digits that depend on the seed."""
    digest = hashlib.sha256(seed + prefix.encode()).hexdigest() if seed else os.urandom(4).hex()
    return prefix + digest[:8]


def metadata(obj: Object) -> Object:
    """The object's metadata for changes; empty and detached if it is unknown."""
    found = obj.setdefault("metadata", {})
    return found if isinstance(found, dict) else {}


def is_named(obj: Object) -> bool:
    """Whether it has a name, known or unknown."""
    found = metadata(obj).get("name")
    return isinstance(found, Unknown) or bool(found)


def is_generated(obj: Object) -> bool:
    """Whether the API server generates the name (`generateName`)."""
    return not is_named(obj) and bool(metadata(obj).get("generateName"))


def assign(
    obj: Object, resource_name: str, seed: bytes, options: provider_pb2.CheckRequest.AutonamingOptions | None
) -> None:
    """Gives a new object without a name one, and marks it so that a replacement may get another."""
    if is_named(obj) or is_generated(obj) or isinstance(obj.get("metadata"), Unknown):
        return
    if options is not None and options.mode == _MODES.DISABLE:
        raise UserError("autonaming is disabled for this stack; set metadata.name")
    proposed = options.proposed_name if options is not None else ""
    metadata(obj)["name"] = proposed or unique(f"{resource_name}-", seed)
    object_annotations.set_true(obj, object_annotations.AUTONAMED)


def adopt(obj: Object, old: Object) -> None:
    """Keeps the automatic name of an existing object."""
    if not is_named(obj) and object_annotations.is_true(old, object_annotations.AUTONAMED):
        metadata(obj)["name"] = metadata(old)["name"]
        object_annotations.set_true(obj, object_annotations.AUTONAMED)


def object_id(obj: Object) -> str:
    """The id of an object in Pulumi's state."""
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


def parse_id(resource_id: str) -> tuple[str, str]:
    """Namespace (empty for none) and name."""
    namespace, _, name = resource_id.rpartition("/")
    return namespace, name
