"""What is new in a branch since the last run, as triggers count it.

Versions, windows and, at first, files are sums over the log's commits. Once a trigger's count of files is reached, the
files of both versions are compared: the trees are those that the library `tensorplane.datasets` writes. A node has
`entries` by their names, files `[kind, digest, size]` and folders `["d", node, names, files, size]`; or, of a large
folder, it is `split` into nodes by hashes of the names. Nothing in a tree ever changes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .commits import Head, Log
from .spec import BYTES, FILES, VERSIONS, WINDOWS

_Entries = Mapping[str, list[Any]]
_FOLDER = "d"


class Files(NamedTuple):
    """An amount of files."""

    number: int
    size: int
    """Bytes of all."""


_BEGIN = Head(0, "")
_NO_FILES = Files(0, 0)


@dataclass
class BranchCounts:
    """The counts of one branch."""

    log: Log
    _from: Head = _BEGIN
    _until: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _compared: tuple[Head, str] = (_BEGIN, "")
    _files: Files = _NO_FILES

    def since(self, last: Head | None, head: Head) -> Mapping[str, int]:
        """Sums over the commits after the last run's. A branch that was deleted and created again is all new."""
        start = last if last and last.number <= head.number and self.log.entry(last.number) == last.commit else None
        start = start or _BEGIN
        if start != self._from or self._until > head.number:
            self._from, self._until, self._counts = start, start.number, Counter()
        for number, made in enumerate(self.log.since(self._until, head.number), self._until + 1):
            self._counts.update(first_counts_of(made) if number == 1 else counts_of(made))
        self._until = head.number
        return self._counts

    def compared(self) -> Mapping[str, int]:
        """The same, but of files how many the newest version has that the last run's lacks or has otherwise: one that
        came or changed several times is one, and one that is as it was is none.
        """
        position = self._from, self.log.entry(self._until)
        if self._compared != position:
            self._files, self._compared = self._new_files(position[1]), position
        return {**self._counts, FILES: self._files.number, BYTES: self._files.size}

    def _new_files(self, head: str) -> Files:
        newest = self.log.read(head)
        if self._from == _BEGIN:
            return Files(newest["files"], newest["size"])
        try:
            return new_files(self.log.root, self.log.read(self._from.commit)["version"], newest["version"])
        except FileNotFoundError:  # retention has deleted the last run's version
            return Files(self._counts[FILES], self._counts[BYTES])


def counts_of(commit: Mapping[str, Any]) -> dict[str, int]:
    """What one commit counts as."""
    changed = commit["changed"]
    return {
        VERSIONS: 1,
        FILES: changed["added"] + changed["changed"],
        BYTES: changed["bytes"],
        WINDOWS: int("stream" in commit["provenance"]),
    }


def first_counts_of(commit: Mapping[str, Any]) -> dict[str, int]:
    """The same of a branch's first commit, all of whose files are new to the branch, also where it was made of another
    one.
    """
    return {**counts_of(commit), FILES: commit["files"], BYTES: commit["size"]}


def new_files(root: Path, before: str, after: str) -> Files:
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
    for name, entry in (item for entries in others for item in entries.items()):
        found = _new(root, one.get(name), entry)
        number, size = number + found.number, size + found.size
    return Files(number, size)


def _new(root: Path, before: list[Any] | None, after: list[Any]) -> Files:
    """What is new at one name."""
    if after[0] != _FOLDER:
        return Files(0, 0) if before == after else Files(1, after[2])
    if before and before[0] == _FOLDER:
        return new_files(root, before[1], after[1])
    return Files(*after[3:5])


def _node(root: Path, node: str) -> tuple[bool, _Entries]:
    """Whether a node is split, and its entries."""
    shape = json.loads((root / "trees" / node[:2] / node[2:]).read_text())
    split = "split" in shape
    return split, shape["split" if split else "entries"]


def _leaves(root: Path, node: str) -> Iterator[_Entries]:
    """The entries of a folder by name: of a split folder node by node, since all at once may not fit into memory."""
    split, entries = _node(root, node)
    if not split:
        yield entries
        return
    for each in entries.values():
        yield from _leaves(root, each[1])
