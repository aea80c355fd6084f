"""Converts inputs to the API server's stored form, so that only real differences show."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from tensorplane.plugins.kubernetes import kinds
from tensorplane.plugins.kubernetes.values import has_unknown

Object = dict[str, Any]

_READ_ONLY_METADATA = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
)


def normalize(obj: Object) -> Object:
    """Changes `obj` in place and returns it."""
    if not has_unknown(obj):
        if kinds.is_secret(obj):
            _normalize_secret(obj)
        elif kinds.is_crd(obj):
            _normalize_crd(obj)
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        for key in _READ_ONLY_METADATA:
            metadata.pop(key, None)
    return obj


def prune(source: Any, shape: Any) -> Any:
    """The part of `source` that `shape` has too: the live state without the cluster's defaults."""
    if isinstance(source, dict) and isinstance(shape, dict):
        return {key: prune(value, shape[key]) for key, value in source.items() if key in shape}
    if isinstance(source, list) and isinstance(shape, list):
        return [prune(value, wanted) for value, wanted in zip(source, shape, strict=False)]
    return source


def _normalize_secret(obj: Object) -> None:
    """`stringData` becomes base64 in `data`, as the server writes it; base64 loses its line breaks."""
    texts = obj.get("stringData")
    if texts and all(isinstance(text, str) for text in texts.values()):
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
        del obj["stringData"]
    else:
        for key, value in (obj.get("data") or {}).items():
            obj["data"][key] = _canonical_base64(value)


def _canonical_base64(value: Any) -> Any:
    try:
        return base64.b64encode(base64.b64decode("".join(value.split()), validate=True)).decode()
    except (AttributeError, binascii.Error):
        return value  # the API server reports what is wrong with it


def _normalize_crd(obj: Object) -> None:
    obj.pop("status", None)
    spec = obj.get("spec")
    if isinstance(spec, dict) and spec.get("preserveUnknownFields") is False:
        del spec["preserveUnknownFields"]
