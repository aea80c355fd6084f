"""The versions in a model's folder, and the problems of those that no server could load."""

from __future__ import annotations

import time
from pathlib import Path

_SETTLED_SECONDS = 4.0
"""A folder without all of its files that nothing has changed for so long is reported; before, it may still be
written."""
_GRAPH = ("saved_model.pb", "saved_model.pbtxt")
_INDEX, _LEAST_INDEX_BYTES = "variables/variables.index", 48
"""A checkpoint's index is a table of LevelDB's format, which ends with 48 bytes."""
_MAGIC = b"\x57\xfb\x80\x8b\x24\x75\x47\xdb"
"""The last bytes of such a table."""


def list_versions(folder: Path, now: float | None = None) -> dict[int, str]:
    """The problem of each version, empty if its files show none. Unfinished ones are left out while
    they may still be written."""
    moment = time.time() if now is None else now
    try:
        folders = [path for path in folder.iterdir() if path.name.isascii() and path.name.isdecimal() and path.is_dir()]
    except FileNotFoundError:
        return {}
    found = {int(path.name): (find_problem(path), path) for path in folders}
    return {
        version: problem
        for version, (problem, path) in found.items()
        if not problem or moment - _last_change(path) >= _SETTLED_SECONDS
    }


def find_problem(version: Path) -> str:
    """The problem of a SavedModel's files; empty if they are complete."""
    try:
        graphs = [version / name for name in _GRAPH if (version / name).exists()]
        if not graphs:
            return "has no saved_model.pb"
        if not graphs[0].stat().st_size:
            return f"{graphs[0].name} is empty"
        if (version / "variables").is_dir():
            return _variables_problem(version)
    except FileNotFoundError:
        return "is being deleted"
    return ""


def _variables_problem(version: Path) -> str:
    index = version / _INDEX
    if not index.exists():
        return f"has no {_INDEX}"
    if index.stat().st_size < _LEAST_INDEX_BYTES or not index.read_bytes().endswith(_MAGIC):
        return f"{_INDEX} is cut off"
    shards = sorted(path.name for path in index.parent.glob("variables.data-*"))
    if shards and len(shards) != (wanted := int(shards[0].rpartition("-")[2])):
        return f"has {len(shards)} of {wanted} files of variables"
    return "" if shards else "has no variables.data"


def _last_change(version: Path) -> float:
    changes = [version.stat().st_mtime]
    for path in version.rglob("*"):
        try:
            changes.append(path.stat().st_mtime)
        except FileNotFoundError:
            continue
    return max(changes)
