"""Which files of a version another version has not: read from the trees that the library `tensorplane.datasets` writes.

A node has `entries` by their names, files `[kind, digest, size]` and folders `["d", node, names, files, size]`; or, of
a large folder, it is `split` into nodes by hashes of the names. Nothing in it ever changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

_Entries = Mapping[str, list[Any]]
_FOLDER = "d"


class Files(NamedTuple):
    """An amount of files."""

    number: int
    size: int
    """Bytes of all."""


def new(root: Path, before: str, after: str) -> Files:
    """The files of a version that another one lacks, or has with other contents. Costs as much as what differs.

    Raises FileNotFoundError if retention has deleted one of them.
    """
    if before == after:
        return Files(0, 0)
    was_split, one = _node(root, before)
    is_split, other = _node(root, after)
    if was_split and not is_split:
        leaves = _leaves(root, before)
        one = {name: entry for leaf in leaves for name, entry in leaf.items() if name in other}
    others = _leaves(root, after) if is_split and not was_split else [other]
    number = size = 0
    for name, entry in (named for entries in others for named in entries.items()):
        found = _new(root, one.get(name), entry)
        number, size = number + found.number, size + found.size
    return Files(number, size)


def _new(root: Path, before: list[Any] | None, after: list[Any]) -> Files:
    """What is new at one name."""
    if after[0] != _FOLDER:
        return Files(0, 0) if before == after else Files(1, after[2])
    if before and before[0] == _FOLDER:
        return new(root, before[1], after[1])
    return Files(*after[3:5])


def _node(root: Path, node: str) -> tuple[bool, _Entries]:
    """Whether a node is split, and its entries."""
    shape = json.loads((root / "trees" / node[:2] / node[2:]).read_text())
    split = "split" in shape
    return split, shape["split" if split else "entries"]


def _leaves(root: Path, node: str) -> Iterator[_Entries]:
    """The entries of a folder by name: of a split one node by node, since all at once may not fit into memory."""
    split, entries = _node(root, node)
    if not split:
        yield entries
        return
    for each in entries.values():
        yield from _leaves(root, each[1])
