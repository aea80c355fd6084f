"""The tree of a version's files: content-addressed nodes, so that a version's id is a hash of all names and contents.

A node is a folder. One with more than LEAF entries is split into 16 nodes by the hashes of its names, these again, so
that a change in a folder of any size writes a few small nodes. The form of a tree depends on its files alone, not on
the order of changes: the same files have the same id. Empty folders do not exist.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tensorplane.datasets.errors import Refused, shortened

LEAF = 256
"""Most entries of a node that is not split."""
LONGEST_PATH = 3584
"""Bytes of a file's path. Linux allows 4,096, of which readers need some for the folder that has the version."""
LONGEST_NAME = 255
"""Bytes of one name in a path, for which Linux has no more room; other systems count characters."""
_MOST_NAMED = 3


class File(NamedTuple):
    """A file of a version."""

    digest: str
    """SHA-256 of its content, in hexadecimal."""
    size: int
    executable: bool = False


class Folder(NamedTuple):
    """A node, as its parent knows it."""

    id: str
    entries: int
    """Names directly in it."""
    files: int
    """Files in and below it."""
    size: int
    """Their bytes."""


if TYPE_CHECKING:
    Entry = File | Folder
    Entries = dict[str, Entry]
    Change = tuple[str, File | None, File | None]
    """A path, and its file before and after; None where it does not exist."""


class Nodes(Protocol):
    """Where nodes are kept."""

    def get(self, node: str) -> bytes:
        """The content of a node. Raises Refused if it is not there."""

    def put(self, content: bytes) -> str:
        """Keeps a node: its id."""


class Conflict(Refused):
    """Two commits changed the same files in different ways."""

    problem = "changed by another commit too; get the new version, and commit again"

    def __init__(self, paths: list[str]) -> None:
        self.paths = sorted(paths)
        more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
        names = ", ".join(map(repr, self.paths[:_MOST_NAMED]))
        super().__init__(f"{names}{more}: {self.problem}")


class FileAndFolder(Conflict):
    """One commit would make a path both, or make it the other one than it is."""

    problem = "would be a file and a folder; rename one, or remove what is there"


def content_id(content: bytes) -> str:
    """The id of a node with this content."""
    return hashlib.sha256(content).hexdigest()


def root(nodes: Nodes, version: str) -> Folder:
    """A version's tree with its totals."""
    split, entries = _read(nodes, version)
    return _folder(version, entries, split)


def walk(nodes: Nodes, version: str, prefix: str = "") -> Iterator[tuple[str, File]]:
    """Every file by its path."""
    for name, entry in sorted(_gathered(nodes, version).items()):
        if isinstance(entry, File):
            yield prefix + name, entry
        else:
            yield from walk(nodes, entry.id, f"{prefix}{name}/")


def node_ids(nodes: Nodes, version: str, known: set[str]) -> Iterator[tuple[str, list[File]]]:
    """Every node of a tree with the files directly in it; those in `known` and what is below are left out, and
    visited ones are added to it.
    """
    if version in known:
        return
    known.add(version)
    _, entries = _read(nodes, version)
    yield version, [each for each in entries.values() if isinstance(each, File)]
    for each in entries.values():
        if isinstance(each, Folder):
            yield from node_ids(nodes, each.id, known)


def added(nodes: Nodes, before: str | None, after: str) -> Iterator[tuple[str, list[File]]]:
    """Nodes of a tree with the files directly in them, without what `before` has in the same place."""
    if before == after:
        return
    one = _read(nodes, before)[1] if before else {}
    other = _read(nodes, after)[1]
    yield after, [each for name, each in other.items() if isinstance(each, File) and one.get(name) != each]
    for name, each in other.items():
        if isinstance(each, Folder):
            yield from added(nodes, _id(one.get(name)), each.id)


def find(nodes: Nodes, version: str, path: str) -> Entry | None:
    """The file or folder at a path; None if there is none."""
    found: Entry = root(nodes, version)
    for name in filter(None, path.split("/")):
        if not isinstance(found, Folder):
            return None
        below = _named(nodes, found.id, name)
        if below is None:
            return None
        found = below
    return found


def diff(nodes: Nodes, before: str | None, after: str | None, prefix: str = "") -> Iterator[Change]:
    """Files that differ. Costs as much as what differs, not as all files."""
    if before == after:
        return
    was_split, one = _read(nodes, before) if before else (False, {})
    is_split, other = _read(nodes, after) if after else (False, {})
    if was_split and is_split:
        for key in sorted(one.keys() | other.keys()):
            yield from diff(nodes, _id(one.get(key)), _id(other.get(key)), prefix)
        return
    if before and was_split:
        one = _gathered(nodes, before)
    if after and is_split:
        other = _gathered(nodes, after)
    for name in sorted(one.keys() | other.keys()):
        old, new = one.get(name), other.get(name)
        if old != new:
            yield from diff(nodes, _id(old), _id(new), f"{prefix}{name}/")
            old, new = _file(old), _file(new)
            if old or new:
                yield prefix + name, old, new


def update(nodes: Nodes, version: str | None, changes: Mapping[str, File | None]) -> Folder:
    """The tree with these files set, or removed where None. Costs as much as the folders of the changes.

    Raises FileAndFolder if a path would be both.
    """
    return _update(nodes, version, _nested(changes), 0, "")


def merge(nodes: Nodes, base: str | None, ours: str, theirs: str | None, *, ours_win: bool = False) -> str:
    """`theirs` with the changes from `base` to `ours`. Raises Conflict where both changed a file in different ways,
    unless `ours_win`.
    """
    if base == theirs or theirs is None:
        return ours
    mine = {path: new for path, _, new in diff(nodes, base, ours)}
    others = {path: new for path, _, new in diff(nodes, base, theirs)}
    both = [path for path in mine.keys() & others.keys() if mine[path] != others[path]]
    if both and not ours_win:
        raise Conflict(both)
    try:
        return update(nodes, theirs, mine).id
    except FileAndFolder as error:  # one of both is theirs
        raise Conflict(error.paths) from None


def is_text(name: str) -> bool:
    """Whether a name is UTF-8, which names of files need not be."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_long(path: str) -> bool:
    """Whether a path, or a name in it, is too long for a file of a dataset."""
    # A character has 4 bytes at most.
    return len(path) > LONGEST_NAME // 4 and (_bytes(path) > LONGEST_PATH or _longest_name(path) > LONGEST_NAME)


def too_long(path: str) -> str:
    """What is wrong with such a path."""
    if (found := _bytes(path)) > LONGEST_PATH:
        return f"its path has {found:,} bytes, more than {LONGEST_PATH:,}; use shorter names"
    return f"has a name of {_longest_name(path)} bytes, more than {LONGEST_NAME}; use a shorter one"


def _bytes(text: str) -> int:
    # A name that is not UTF-8 is refused elsewhere.
    return len(text.encode(errors="replace"))


def _longest_name(path: str) -> int:
    return max(map(_bytes, path.split("/")))


@dataclass
class _Changes:
    """Changes at one name: of the file there, and below the folder there."""

    file: File | None = None
    is_set: bool = False
    below: dict[str, _Changes] = field(default_factory=dict)


def _nested(changes: Mapping[str, File | None]) -> dict[str, _Changes]:
    top = _Changes()
    for path, file in changes.items():
        if file and is_long(path):
            raise Refused(f"{shortened(path)!r}: {too_long(path)}")
        here = top
        for name in path.split("/"):
            if name in ("", ".", "..") or "\0" in name:
                raise Refused(f"{path!r}: is no path of a file in a dataset; use names without . and ..")
            if not is_text(name):
                raise Refused(f"{shortened(path)!r}: its name is not UTF-8; rename it")
            here = here.below.setdefault(name, _Changes())
        here.file, here.is_set = file, True
    return top.below


def _update(nodes: Nodes, node: str | None, changes: dict[str, _Changes], depth: int, prefix: str) -> Folder:
    split, entries = _read(nodes, node) if node else (False, {})
    if not split:
        for name, change in changes.items():
            _apply(nodes, entries, name, change, prefix)
        return _write(nodes, entries, depth)
    groups: dict[str, dict[str, _Changes]] = {}
    for name, change in changes.items():
        groups.setdefault(_key(name, depth), {})[name] = change
    for key, group in groups.items():
        made = _update(nodes, _id(entries.get(key)), group, depth + 1, prefix)
        entries[key] = made
        if not made.entries:
            del entries[key]
    if sum(each.entries for each in entries.values() if isinstance(each, Folder)) <= LEAF:
        below = [_gathered(nodes, each.id) for each in entries.values() if isinstance(each, Folder)]
        return _write(nodes, {name: entry for one in below for name, entry in one.items()}, depth)
    return _put(nodes, entries, split=True)


def _apply(nodes: Nodes, entries: Entries, name: str, change: _Changes, prefix: str) -> None:
    if change.below:
        is_file = isinstance(entries.get(name), File) and not change.is_set
        if is_file and any(each.is_set and each.file for each in _all(change.below)):
            raise FileAndFolder([prefix + name])
        below = _update(nodes, _id(entries.get(name)), change.below, 0, f"{prefix}{name}/")
        if below.entries and change.file:
            raise FileAndFolder([prefix + name])
        if below.entries:
            entries[name] = below
        elif isinstance(entries.get(name), Folder):
            del entries[name]
    if change.file:
        if isinstance(entries.get(name), Folder):
            raise FileAndFolder([prefix + name])
        entries[name] = change.file
    elif change.is_set and isinstance(entries.get(name), File):
        del entries[name]


def _all(changes: Mapping[str, _Changes]) -> Iterator[_Changes]:
    for each in changes.values():
        yield each
        yield from _all(each.below)


def _write(nodes: Nodes, entries: Entries, depth: int) -> Folder:
    if len(entries) <= LEAF:
        return _put(nodes, entries, split=False)
    groups: dict[str, Entries] = {}
    for name, entry in entries.items():
        groups.setdefault(_key(name, depth), {})[name] = entry
    return _put(nodes, {key: _write(nodes, group, depth + 1) for key, group in groups.items()}, split=True)


def _put(nodes: Nodes, entries: Mapping[str, Entry], *, split: bool) -> Folder:
    shape = {"split" if split else "entries": {name: _encoded(entry) for name, entry in entries.items()}}
    content = json.dumps(shape, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return _folder(nodes.put(content), entries, split)


def _folder(node: str, entries: Mapping[str, Entry], split: bool) -> Folder:
    folders = [each for each in entries.values() if isinstance(each, Folder)]
    files = len(entries) - len(folders)
    names = sum(each.entries for each in folders) if split else len(entries)
    size = sum(each.size for each in entries.values())
    return Folder(node, names, files + sum(each.files for each in folders), size)


def _encoded(entry: Entry) -> list[Any]:
    return ["d", *entry] if isinstance(entry, Folder) else ["x" if entry.executable else "f", *entry[:2]]


def _read(nodes: Nodes, node: str) -> tuple[bool, Entries]:
    """Whether a node is split, and its entries: by name, or nodes by the hashes of the names."""
    shape = json.loads(nodes.get(node))
    split = "split" in shape
    return split, {name: _decoded(*found) for name, found in shape["split" if split else "entries"].items()}


def _decoded(kind: str, digest: str, *numbers: int) -> Entry:
    return Folder(digest, *numbers) if kind == "d" else File(digest, numbers[0], kind == "x")


def _gathered(nodes: Nodes, node: str) -> Entries:
    """The entries of a folder by name, also if it is split."""
    split, entries = _read(nodes, node)
    if not split:
        return entries
    below = [_gathered(nodes, each.id) for each in entries.values() if isinstance(each, Folder)]
    return {name: entry for one in below for name, entry in one.items()}


def _named(nodes: Nodes, node: str, name: str) -> Entry | None:
    """The entry of a folder with this name."""
    split, entries = _read(nodes, node)
    depth = 0
    while split:
        part = _id(entries.get(_key(name, depth)))
        if part is None:
            return None
        split, entries = _read(nodes, part)
        depth += 1
    return entries.get(name)


def _key(name: str, depth: int) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[depth]


def _id(entry: Entry | None) -> str | None:
    return entry.id if isinstance(entry, Folder) else None


def _file(entry: Entry | None) -> File | None:
    return entry if isinstance(entry, File) else None
