"""Commits: what they record, and how one becomes the newest of its branch.

A branch is a log of files 0000000001, 0000000002, … with the id of a commit each. The next is created with link(2),
which fails where the name exists, so of two committers one is first, and the other merges its changes and tries the
number after. Numbers have no gaps and are never deleted, so who has read up to a number has missed nothing before it.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tensorplane.datasets import durable, tree
from tensorplane.datasets.errors import Gone, Refused, collected
from tensorplane.datasets.store import Store, blob_name, list_folder

NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}")
"""Names of branches and labels."""
_NUMBER_HINT = "near"
"""File of a branch with a number close to its last: where to start to look."""


@dataclass(frozen=True)
class Note:
    """What a committer says about a commit."""

    message: str = ""
    author: str = ""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """What made it: JSON, such as `inputs`, a list of `{dataset, version}`, which retention keeps."""


@dataclass(frozen=True)
class Commit:
    """One entry of a dataset's history."""

    id: str
    version: str
    """Id of its files: the same files have the same version, whoever commits them."""
    parents: list[str]
    time: float
    """Seconds since 1970."""
    author: str
    message: str
    files: int
    size: int
    """Bytes of all files."""
    changed: dict[str, int]
    """Counts of files `added`, `changed` and `removed` since the first parent, and `bytes` of the former two."""
    provenance: dict[str, Any]


After = Callable[["Commit | None"], object]
"""Looks at the newest commit of a branch, None if there is none, before the next one. Raises Refused to add none."""


def read(store: Store, commit: str) -> Commit:
    """A commit by its id."""
    return Commit(commit, **json.loads(store.commit(commit)))


def heads(store: Store) -> dict[str, str]:
    """The newest commit of each branch."""
    found = {}
    for path in list_folder(store.root / "branches"):
        if number := last(store, path.name):
            found[path.name] = entry(store, path.name, number)
    return found


def last(store: Store, branch: str) -> int:
    """The number of a branch's newest commit; 0 if there is none."""
    folder = store.root / "branches" / branch
    try:
        number = int((folder / _NUMBER_HINT).read_text())
    except (OSError, ValueError):
        number = 0
    # A folder that was copied while somebody committed to it may have a number whose entry it lacks.
    if not _is_there(folder, number) and folder.is_dir():
        number = max((int(path.name) for path in folder.iterdir() if path.name.isdecimal()), default=0)
    while _is_there(folder, number + 1):
        number += 1
    return number


def entry(store: Store, branch: str, number: int) -> str:
    """The id of a branch's commit with this number. Raises Refused if there is none."""
    try:
        return (store.root / "branches" / branch / _numbered(number)).read_text()
    except FileNotFoundError:
        raise Refused(f"{branch}: the branch has no commit number {number}") from None


def head(store: Store, branch: str) -> Commit | None:
    """The newest commit of a branch; None if there is no such branch."""
    number = last(store, branch)
    return read(store, entry(store, branch, number)) if number else None


def log(store: Store, commit: str) -> Iterator[Commit]:
    """A commit and those before it, along the first parents."""
    here: str | None = commit
    while here:
        found = read(store, here)
        yield found
        here = next(iter(found.parents), None)


def every(store: Store, besides: Collection[str] = ()) -> Iterator[Commit]:
    """All commits that are there, also those in no branch any more, in no order. `besides`: ids of those left out."""
    for name in store.names("commits"):
        with contextlib.suppress(Refused):  # deleted meanwhile
            if name not in besides:
                yield read(store, name)


def publish(
    store: Store,
    branch: str,
    ours: str,
    note: Note,
    *,
    base: str | None,
    ours_win: bool = False,
    whole: bool = False,
    after: After | None = None,
    look: Callable[[str | None, str], object] | None = None,
) -> Commit:
    """Makes a tree the newest commit of a branch, and returns the commit.

    `base`: the version that `ours` was made from. What others have committed since is kept: their files stay unless
    `ours` changed the same ones, which raises Conflict or, with `ours_win`, replaces theirs. `whole`: the branch gets
    exactly `ours`, for results that replace the former ones. Two functions may raise Refused to add none: `after` is
    given the commit before, and called before Conflict is raised; `look` is given the version before and the one that
    is to follow. Nothing is added if the branch has these files from the same provenance already.
    """
    if not NAME.fullmatch(branch):
        raise Refused(f"{branch!r}: is no name of a branch; use letters, digits, '.', '_' and '-'")
    note = replace(note, provenance=_plain(note.provenance))
    folder = store.root / "branches" / branch
    while True:
        number = last(store, branch)
        before = read(store, entry(store, branch, number)) if number else None
        if after:
            after(before)
        theirs = before.version if before else None
        version = ours if whole else tree.merge(store, base, ours, theirs, ours_win=ours_win)
        if look:
            look(theirs, version)
        if before and version == before.version and (not note.provenance or _is_same(note, before)):
            return before
        made = _made(store, before, version, note)
        if not _uses(store, theirs, version):
            raise collected(branch)
        store.published()  # the entry below may exist even if its creation fails
        folder.mkdir(exist_ok=True)
        place = folder / _numbered(number + 1)
        if durable.create(place, made.id.encode(), store.parts):
            if before and not _is_entry(folder / _numbered(number), before.id):
                place.unlink()
                raise Refused(f"{branch}: the branch was deleted meanwhile; commit again")
            durable.sync(folder.parent)
            with contextlib.suppress(OSError):
                (folder / _NUMBER_HINT).write_text(str(number + 1))
            return made


def fork(store: Store, branch: str, commit: Commit) -> None:
    """Creates a branch whose newest commit is an existing one. Raises Refused if the branch exists."""
    if not NAME.fullmatch(branch):
        raise Refused(f"{branch!r}: is no name of a branch; use letters, digits, '.', '_' and '-'")
    folder = store.root / "branches" / branch
    present(store, commit.version)
    folder.mkdir(exist_ok=True)
    if not durable.create(folder / _numbered(1), commit.id.encode(), store.parts):
        raise Refused(f"{branch}: the branch exists; choose another name")
    durable.sync(folder.parent)


def delete(store: Store, branch: str) -> None:
    """Deletes a branch's log. Its commits stay where another branch or a label has them."""
    with durable.part(store.trash) as gone:
        try:
            (store.root / "branches" / branch).rename(gone)
        except FileNotFoundError:
            raise Refused(f"{branch}: no such branch") from None
        durable.sync(store.root / "branches")
        shutil.rmtree(gone)


def present(store: Store, version: str) -> None:
    """Makes sure that all of a version is there and stays for now. Raises Refused if retention has deleted any."""
    if not _uses(store, None, version):
        raise Gone(f"{version[:12]}: deleted by the retention; choose a kept version")


def _uses(store: Store, known: str | None, version: str) -> bool:
    """Whether what a version has and `known`, which the branch has, lacks is there; then it stays for now."""

    def needed() -> Iterator[tuple[str, str]]:
        for node, files in tree.added(store, known, version):
            yield "trees", node
            yield from (("objects", blob_name(file)) for file in files)

    try:
        return store.use(needed)
    except Gone:  # a folder of it
        return False


def _plain(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The provenance as it is read back: JSON has lists for tuples, and text for keys. Raises Refused if it is none."""
    try:
        return dict(json.loads(json.dumps(dict(provenance))))
    except (TypeError, ValueError) as error:
        raise Refused(f"provenance: is no JSON ({error}); use maps, lists, text and Python's own numbers") from None


def _is_same(note: Note, made: Commit) -> bool:
    """Whether a note and a commit have the same provenance. As text, in which NaN is NaN."""
    return json.dumps(note.provenance, sort_keys=True) == json.dumps(made.provenance, sort_keys=True)


def _made(store: Store, before: Commit | None, version: str, note: Note) -> Commit:
    total = tree.root(store, version)
    changed = dict.fromkeys(("added", "changed", "removed", "bytes"), 0)
    for _, old, new in tree.diff(store, before.version if before else None, version):
        changed["removed" if new is None else "changed" if old else "added"] += 1
        changed["bytes"] += new.size if new else 0
    parents = [before.id] if before else []
    made = Commit(
        "",
        version,
        parents,
        time.time(),
        note.author,
        note.message,
        total.files,
        total.size,
        changed,
        dict(note.provenance),
    )
    record = asdict(made)
    del record["id"]
    try:
        content = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Refused("message, author or provenance: is not UTF-8; write it in UTF-8") from None
    return replace(made, id=store.put_commit(content))


def _is_there(branch: Path, number: int) -> bool:
    return number > 0 and (branch / _numbered(number)).exists()


def _is_entry(path: Path, commit: str) -> bool:
    try:
        return path.read_text() == commit
    except FileNotFoundError:
        return False


def _numbered(number: int) -> str:
    return f"{number:010d}"
