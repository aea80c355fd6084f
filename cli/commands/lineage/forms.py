"""Which entries of a record have the documented form. Programs may write anything else into provenance. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

_MAPS = ("data", "metrics", "params", "parts", "reproduces", "settings", "versions")
_COLLECTIONS = ("volumes", "streams")


def split(record: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The entries that are as the library's `lineage.py` documents them, and the others, without those that say
    nothing.
    """
    known = {key: value for key, value in record.items() if _is_documented(key, value)}
    return known, {key: value for key, value in record.items() if key not in known and value is not None}


def _is_documented(key: str, value: Any) -> bool:
    if key in _MAPS and not isinstance(value, Mapping):
        return False
    if key == "settings":
        strategy = value.get("strategy", {"kind": ""})
        return isinstance(value.get("env", {}), Mapping) and isinstance(strategy, Mapping) and "kind" in strategy
    if key == "data":
        return all(isinstance(value.get(each, ()), Collection) for each in _COLLECTIONS)
    if key == "parts":
        return "parts" in value and all(isinstance(count, int) for count in value.values())
    return key != "steps" or isinstance(value, int)
