"""Pulumi's property paths, such as `metadata.annotations["a.b/c"]` and `spec.containers[0].image`."""

from __future__ import annotations

import re
from typing import Any

Path = tuple[str | int, ...]

_SEGMENT = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+|\*)\]|\.?([^.\[\]]+)')


def parse(text: str) -> Path:
    """`*` matches any key and any index."""
    parts: list[str | int] = []
    for quoted, index, name in _SEGMENT.findall(text):
        if index:
            parts.append(int(index) if index.isdigit() else index)
        else:
            parts.append(name or quoted.replace('\\"', '"'))
    return tuple(parts)


def render(path: Path) -> str:
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.search(r'[."\[\]]', part):
            quoted = part.replace('"', '\\"')
            text += f'["{quoted}"]'
        else:
            text += f".{part}" if text else part
    return text


def covers(outer: Path, inner: Path) -> bool:
    """Whether `inner` is `outer` or lies within it."""
    return len(outer) <= len(inner) and all(a in ("*", b) for a, b in zip(outer, inner, strict=False))


def find(obj: Any, path: Path) -> tuple[bool, Any]:
    """Whether a path has a value, and the value."""
    for part in path:
        if not _has(obj, part):
            return False, None
        obj = obj[part]
    return True, obj


def put(obj: Any, path: Path, value: Any) -> None:
    """Sets a value in nested maps, which are created as needed; a path beyond the end of a list is ignored."""
    for part in path[:-1]:
        if isinstance(obj, dict):
            obj.setdefault(part, {})
        if not _has(obj, part):
            return
        obj = obj[part]
    if isinstance(obj, dict) or _has(obj, path[-1]):
        obj[path[-1]] = value


def remove(obj: Any, path: Path) -> None:
    """Removes a map's entry, if it exists."""
    found, parent = find(obj, path[:-1])
    if found and isinstance(parent, dict):
        parent.pop(path[-1], None)


def _has(obj: Any, part: str | int) -> bool:
    if isinstance(obj, list):
        return isinstance(part, int) and part < len(obj)
    return isinstance(obj, dict) and part in obj
