"""Where values are in a stack's settings, and how they are read, put and taken out there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

At = tuple[str | int, ...]
"""The keys and positions that lead to a value."""
Tree = dict[str, Any]

NAMED = ("nodeGroups", "volumes", "streams", "queues", "cohorts", "teams", "workloads")
"""The sections that are maps by name."""
REFERENCES = {
    "volume": "volumes", "mirrorOf": "volumes", "queue": "queues", "nodeGroup": "nodeGroups", "cohort": "cohorts",
    "parent": "cohorts", "systemGroup": "nodeGroups",
}  # fmt: skip
"""The settings that name something of a section."""


def each_value(node: Any, at: At = ()) -> Iterator[tuple[At, Any]]:
    """Every value below a node, with its place, from the outside inwards."""
    if isinstance(node, dict):
        pairs: list[tuple[str | int, Any]] = list(node.items())
    else:
        pairs = list(enumerate(node)) if isinstance(node, list) else []
    for key, value in pairs:
        yield (*at, key), value
        yield from each_value(value, (*at, key))


def value_at(tree: Any, at: At) -> Any:
    for key in at:
        tree = tree[key]
    return tree


def put(tree: Any, at: At, value: Any) -> None:
    value_at(tree, at[:-1])[at[-1]] = value


def drop(tree: Any, at: At) -> Any:
    return value_at(tree, at[:-1]).pop(at[-1])


def rename(tree: Any, at: At, name: str) -> None:
    """Give a map's key another name, at the same position."""
    around = value_at(tree, at[:-1])
    pairs = [(name if key == at[-1] else key, value) for key, value in around.items()]
    around.clear()
    around.update(pairs)


def scalars(tree: Any, *kinds: type) -> list[At]:
    """The places of values of these very types."""
    return [at for at, value in each_value(tree) if type(value) in kinds]


def maps(tree: Any) -> list[At]:
    return [at for at, value in each_value(tree) if isinstance(value, dict)]


def dotted(at: At) -> str:
    """The place as people write it."""
    return ".".join(map(str, at))


def general(at: At) -> str:
    """The setting at a place, whatever the names of things are in this file: `volumes.*.sizeGib`."""
    parts = ["*" if isinstance(key, int) or (index == 1 and at[0] in NAMED) else key for index, key in enumerate(at)]
    if len(parts) > 3 and parts[0] == "workloads" and parts[2] in ("volumes", "env", "files", "streams"):
        parts[3:4] = ["*"][: len(parts[3:4])]
    return ".".join(map(str, parts))
