"""The files of a folder, without losing one that is moved from one of its folders to another while they are listed.

A folder that has changed since it was listed is listed again: the file that has left a folder before it was listed has
come to one that was listed before.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from tensorplane.datasets import tree
from tensorplane.datasets.errors import all_of, shortened

_MOST_LISTINGS = 10
"""How often folders that change are listed again. New files may come on and on."""

Stamp = str
"""A file's size, times of modification and of change, inode and path: a file with the same was not changed."""


@dataclass
class _Listed:
    """What is directly in a folder."""

    changed_ns: int
    """When the folder had changed last before it was listed."""
    files: dict[str, Stamp] = field(default_factory=dict)
    below: set[str] = field(default_factory=set)
    """The folders in it, as `a/b/`."""
    faults: list[str] = field(default_factory=list)


def stamps(folder: Path, settled: int | None) -> dict[str, Stamp]:
    """The files by their paths. Raises Refused, with all faults, for what is no regular file, and where files keep
    leaving their folders.

    `settled`: a folder that has changed later may change again without another time, in nanoseconds. None for a file
    system whose folders have no times that show it: they are listed once.
    """
    found = _tree(folder, "")
    lost: set[str] = set()
    for number in range(_MOST_LISTINGS if settled is not None else 0):
        again = [prefix for prefix, one in found.items() if _has_changed(folder, prefix, one)]
        if number == 0:
            again += [prefix for prefix, one in found.items() if one.changed_ns >= (settled or 0)]
        if not again:
            lost = set()
            break
        before = {path for prefix in again for path in found[prefix].files}
        for prefix in dict.fromkeys(again):
            _relist(folder, prefix, found)
        lost = before - {path for one in found.values() for path in one.files}
    every = {path: stamp for one in found.values() for path, stamp in one.files.items()}
    faults = [fault for one in found.values() for fault in one.faults]
    faults += [f"{shortened(path)!r}: its name is not UTF-8; rename it" for path in every if not tree.is_text(path)]
    if faults := faults or [changing(path) for path in lost]:
        raise all_of(faults)
    return every


def _relist(folder: Path, prefix: str, found: dict[str, _Listed]) -> None:
    """Lists a folder again, with those that have come to it, and without those that have left it."""
    if prefix not in found:  # it has left another one
        return
    before, found[prefix] = found[prefix], _listed(folder, prefix)
    for gone in before.below - found[prefix].below:
        for each in [each for each in found if each.startswith(gone)]:
            del found[each]
    for new in found[prefix].below - found.keys():
        found.update(_tree(folder, new))


def _tree(folder: Path, prefix: str) -> dict[str, _Listed]:
    """A folder and all below."""
    found: dict[str, _Listed] = {}
    left = [prefix]
    while left:
        each = left.pop()
        found[each] = _listed(folder, each)
        left += found[each].below
    return found


def _listed(folder: Path, prefix: str) -> _Listed:
    place = folder / prefix
    try:
        made = _Listed(place.stat().st_mtime_ns)
        _fill(made, place, prefix)
    except PermissionError:
        return _Listed(-1, faults=[unreadable(place, prefix or ".")])
    except FileNotFoundError:
        if not prefix:
            raise
        return _Listed(-1, faults=[changing(prefix.rstrip("/"))])
    return made


def _fill(made: _Listed, place: Path, prefix: str) -> None:
    with os.scandir(place) as entries:
        for each in entries:
            path = prefix + each.name
            if tree.is_long(path):
                made.faults.append(f"{shortened(path)!r}: {tree.too_long(path)}")
            elif each.is_file(follow_symlinks=False):
                made.files[path] = _stamped(each, path)
            elif each.is_dir(follow_symlinks=False):
                made.below.add(f"{path}/")
            else:
                made.faults.append(_fault(each, path))


def _stamped(entry: os.DirEntry[str], path: str) -> Stamp:
    try:
        return stamp(entry.stat(follow_symlinks=False), path)
    except FileNotFoundError:
        return f"- - - - {path}"  # who reads it says that it is gone


def _has_changed(folder: Path, prefix: str, listed: _Listed) -> bool:
    try:
        return (folder / prefix).stat().st_mtime_ns != listed.changed_ns
    except (FileNotFoundError, PermissionError):
        return False  # the folder that it was in has changed


def stamp(about: os.stat_result, path: str) -> Stamp:
    """The stamp of a file."""
    return f"{about.st_size} {about.st_mtime_ns} {about.st_ctime_ns} {about.st_ino} {path}"


def changing(path: str) -> str:
    """The fault of a file or folder that its writer has not finished."""
    return f"{shortened(path)!r}: changes while it is read; commit once its writer has finished"


def unreadable(place: Path, path: str) -> str:
    """The fault of a file or folder that this user may not read."""
    about = place.stat()
    whose = f"mode {stat.S_IMODE(about.st_mode):03o} of user {about.st_uid}"
    return f"{shortened(path)!r}: cannot be read by user {os.geteuid()} ({whose}); let its writer make it readable"


def _fault(entry: os.DirEntry[str], path: str) -> str:
    if entry.is_symlink():
        return f"{shortened(path)!r}: is a symbolic link; a dataset holds files, so put the file in its place"
    return f"{shortened(path)!r}: is neither a file nor a folder; remove it"
