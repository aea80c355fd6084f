"""Which versions a dataset keeps: the newest of each branch, labeled ones, inputs of others, and by rule.

History is never deleted: commits of deleted versions remain, with their provenance.

Commits go on while `collect` deletes, without locks: they mark what they use as used now, and what was used lately
stays. `collect_now` spares less, so it says first that it begins: a commit that sees this marks again what it uses
(`Store.use`), and one that was past its last look has time to become the newest of its branch, whose files are needed.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tensorplane.datasets import commit, labels, tree
from tensorplane.datasets.commit import Commit
from tensorplane.datasets.errors import Refused, all_of
from tensorplane.datasets.store import KINDS, TMP, VERSIONS, Store, blob_name, list_folder, used_since
from tensorplane.datasets.tree import File

GRACE_SECONDS = 24 * 3600.0
"""What was written or used for the last time less than this ago stays. A commit must not take longer."""
_ENTERED_SECONDS = 30.0
"""More than a commit takes from the end of `Store.use` to its entry in the branch's log."""
_WRITING_SECONDS = 60.0
"""A file in `tmp` that nobody has written to for so long is of a process that was killed."""
_SLOWLY = "slowly"
"""What is written in `tmp` although it looks old: folders of versions, and other names of files."""
_UNFINISHED_SECONDS = 14 * 86400.0
"""A run of a stage that began longer ago was abandoned."""
_LOST = "lost+found"
"""Folder that file systems make, for root alone."""
_KEY = re.compile(r'"key": "([0-9a-f]{64})"')


@dataclass(frozen=True)
class Rule:
    """What is kept besides. A rule without either keeps everything."""

    last: int | None = None
    """So many of the newest commits of each branch."""
    days: float | None = None
    """Commits that are not older."""

    def __post_init__(self) -> None:
        if self.last is not None and (not isinstance(self.last, int) or self.last < 1):
            raise Refused(f"last: is {self.last!r}; set it to a whole number from 1")
        if self.days is not None and not (isinstance(self.days, (int, float)) and self.days > 0):
            raise Refused(f"days: is {self.days!r}; set it to more than 0")

    def keeps(self, place: int, made: Commit, now: float) -> bool:
        """Whether it keeps the commit at this place of a branch; 0 is the newest."""
        if self.last is None and self.days is None:
            return True
        by_count = self.last is not None and place < self.last
        return place == 0 or by_count or (self.days is not None and now - made.time <= self.days * 86400)


@dataclass(frozen=True)
class Retained:
    """What stays."""

    versions: set[str]
    commits: set[str]


def retained(store: Store, rule: Rule, *, used: Iterable[str] = ()) -> Retained:
    """Versions with their files, and commits. `used`: versions that something else needs, such as inputs of models;
    they may be in no branch any more, as if it was deleted since.
    """
    wanted, now = set(used), time.time()
    labeled = {one.commit for one in labels.read(store).values()}
    found = Retained(set(), set())
    for start in commit.heads(store).values():
        for place, made in enumerate(commit.log(store, start)):
            found.commits.add(made.id)
            if rule.keeps(place, made, now) or made.version in wanted:
                found.versions.add(made.version)
    found.versions.update(commit.read(store, label).version for label in labeled)
    # The others are in no branch any more.
    for one in [*commit.every(store, besides=found.commits)]:
        if one.version in wanted or one.id in labeled:
            found.versions.add(one.version)
            with contextlib.suppress(Refused):  # the commits before it may be gone
                history = itertools.takewhile(lambda made: made.id not in found.commits, commit.log(store, one.id))
                found.commits.update(made.id for made in history)
    return found


def used_by(others: Iterable[Store]) -> set[str]:
    """Versions that commits of other datasets, whose own files are there, were made from: the `inputs` of their
    provenance, a list of `{dataset, version}`. Raises Refused, with all that this user may not read: nobody knows what
    those were made from.

    The names of datasets in them are those of then, and do not count: the same version has the same files anyway.
    """
    found, faults = set[str](), list[str]()
    for store in others:
        try:
            found.update(_inputs(store))
        except PermissionError as error:
            faults.append(_unreadable(store.root, error))
    if faults:
        raise all_of(faults)
    return found


def _inputs(store: Store) -> Iterator[str]:
    return (
        str(each["version"])
        for made in commit.every(store)
        if store.path("trees", made.version).exists()
        for each in _listed(made.provenance.get("inputs"))
        if isinstance(each, Mapping) and "version" in each
    )


def _listed(inputs: object) -> list[object]:
    """The inputs in a provenance. A program may have written anything else there, which names no version."""
    return inputs if isinstance(inputs, list) else []


def neighbours(store: Store) -> list[Store]:
    """The other datasets in the same folder, and folders that this user may not look into, which may be some. Raises
    Refused if this user may not list the folder.
    """
    root = store.root.absolute()
    try:
        paths = sorted(root.parent.iterdir())
    except PermissionError as error:
        raise Refused(_unreadable(root.parent, error)) from None
    return [Store(path) for path in paths if path not in (root, root.parent / _LOST) and _may_be_dataset(path)]


def _may_be_dataset(path: Path) -> bool:
    try:
        return Store(path).exists
    except PermissionError:
        return True


def _unreadable(path: Path, error: OSError) -> str:
    problem = f"cannot be read by user {os.geteuid()} ({error.filename}: {error.strerror})"
    return f"{path}: {problem}, and may need versions of this dataset, so nothing is deleted; let that user read it"


def collect(
    store: Store, rule: Rule, *, used: Iterable[str] = (), grace_seconds: float = GRACE_SECONDS
) -> dict[str, int]:
    """Deletes what no kept version has; how much of each kind, and `bytes`. `used`: as in `kept`."""
    store.create()
    return _collected(store, retained(store, rule, used=used), _since(time.time() - grace_seconds))


def collect_now(
    store: Store, rule: Rule, *, used: Iterable[str] = (), pause: Callable[[float], object] = time.sleep
) -> dict[str, int]:
    """The same, and delete also what was written lately and no kept version has, such as what a commit that was killed
    has left. Versions that were opened in the last day stay.

    `pause`: between the begin and the first look, in seconds.
    """
    store.create()
    began = store.begin_collection() / 1e9
    pause(_ENTERED_SECONDS)
    lately = {"objects": began, "trees": began, TMP: began - _WRITING_SECONDS}
    return _collected(store, retained(store, rule, used=used), {**_since(began - GRACE_SECONDS), **lately})


def _since(moment: float) -> dict[str, float]:
    return dict.fromkeys((*KINDS, VERSIONS, TMP, _SLOWLY), moment)


def _collected(store: Store, stays: Retained, since: Mapping[str, float]) -> dict[str, int]:
    """Deletes the rest. `since`: what was used from this moment on stays, by kind."""
    deleted, size = {}, 0
    # Versions are first, so that a content's own name is the last one.
    for kind, needed in _marked(store, stays).items():
        _restore(store, kind, needed)
        is_used = used_since(since[kind])
        deleted[kind] = 0
        for name in [name for name in store.names(kind) if name not in needed]:
            path = store.path(kind, name)
            with contextlib.suppress(FileNotFoundError):
                if is_used(path):
                    continue
                freed = _freed(path)
                if store.discard(kind, name, is_used):
                    deleted[kind] += 1
                    size += freed
    for path in (*store.parts.iterdir(), *store.trash.iterdir()):
        with contextlib.suppress(FileNotFoundError):
            if not _is_written(path.stat(), since):
                freed = _freed(path)
                store.destroy(path)
                size += freed
    return {**deleted, "bytes": size}


def _is_written(about: os.stat_result, since: Mapping[str, float]) -> bool:
    """Whether somebody may be writing something in `tmp`."""
    if stat.S_ISDIR(about.st_mode):  # its time does not show what is written to folders below it
        return about.st_mtime >= since[_SLOWLY]
    if about.st_nlink > 1:  # it has its owner's time; the other one is at least that of its name here
        return about.st_ctime >= since[_SLOWLY]
    return about.st_mtime >= since[TMP]


def _freed(path: Path) -> int:
    """Bytes that the volume has again once a file or a folder is gone: not those of files with other names."""
    every = [each.stat() for each in ([path, *path.rglob("*")] if path.is_dir() else [path])]
    return sum(each.st_size for each in every if stat.S_ISREG(each.st_mode) and each.st_nlink == 1)


def _marked(store: Store, stays: Retained) -> dict[str, set[str]]:
    """The objects that stay, by kind."""
    nodes: set[str] = set()
    objects: set[str] = set()
    for version in stays.versions:
        with contextlib.suppress(Refused):  # deleted before the rule kept it
            for _, files in tree.node_ids(store, version, nodes):
                objects.update(map(blob_name, files))
    objects.update(map(blob_name, _of_unfinished_runs(store)))
    return {VERSIONS: stays.versions, "objects": objects, "trees": nodes, "commits": stays.commits}


def _of_unfinished_runs(store: Store) -> Iterator[File]:
    """Files of results that a run of a stage will commit, whose plan names them (the library's `stages`)."""
    is_recent = used_since(time.time() - _UNFINISHED_SECONDS)
    for plan in (path for path in list_folder(store.root / "runs") if path.suffix == ".json"):
        with contextlib.suppress(FileNotFoundError):  # finished meanwhile
            for key in _KEY.findall(plan.read_text() if is_recent(plan) else ""):
                yield from _of_result(store, key)


def _of_result(store: Store, key: str) -> list[File]:
    try:
        found = json.loads(store.path("results", key).read_text())
    except FileNotFoundError:
        return []
    return [File(*each) for each in found["files"].values()]


def _restore(store: Store, kind: str, needed: set[str]) -> None:
    """Puts back what a killed `collect` has left in the trash although somebody used it."""
    for path in list(store.trash.glob(f"{kind}-*")):
        name = path.name[len(kind) + 1 :]
        if name in needed and not store.path(kind, name).exists():
            with contextlib.suppress(OSError):
                path.rename(store.path(kind, name))
