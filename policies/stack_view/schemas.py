"""JSON schemas of configuration keys that several rules have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

EXEMPT_NAMESPACES: Mapping[str, Schema] = {
    "exemptNamespaces": {
        "type": "array",
        "items": {"type": "string"},
        # Where the DaemonSets of the GPU runtime reach the devices of their node.
        "default": ["gpu-runtime"],
    }
}


def strings(*default: str) -> Schema:
    """A list of strings."""
    return {"type": "array", "items": {"type": "string"}, "default": list(default)}


def number(default: float) -> Schema:
    """A number of at least 0."""
    return {"type": "number", "minimum": 0, "default": default}


def counts() -> Schema:
    """A whole number of at least 0 for each name."""
    return {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}, "default": {}}


def flag(default: bool) -> Schema:
    """True or false."""
    return {"type": "boolean", "default": default}
