"""The files of a folder, and which of them changed since it was last committed.

A file whose size, times and inode are as before is not read again. One that changes again in the same step of its file
system's clock in which it was read would look the same. So a file counts as unknown, and the next commit reads it once
more, if it may have changed in the step in which the scan began.

Who writes through memory (mmap) gives a file another time only with the first write to a page that is on the disk. So a
file that changed lately is written to the disk before it is read.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tensorplane.datasets import durable, listing
from tensorplane.datasets.errors import Refused, all_of
from tensorplane.datasets.listing import Stamp
from tensorplane.datasets.store import Store
from tensorplane.datasets.tree import File

_MOST_WRITES = 3
_THREADS = 16
_FILES_PER_BATCH = 1000
_TICK_NS = 50_000_000
"""Longer than the steps of a kernel's clock for files."""
_OTHER_CLOCK_NS = 600 * 10**9
"""Longer than the steps of any file system's clock (FAT has 2 s), and than a server's clock may differ from ours."""
_UNWRITTEN_NS = 600 * 10**9
"""Longer than a kernel keeps what was written to a file in memory alone: by default 30 s, and the time of the disk."""
_STALE = 100
"""So many files that were read again are worth a new index."""
_END = "\0"


@dataclass
class Index:
    """What is known of a folder."""

    version: str | None = None
    """The tree that it was."""
    stamps: set[Stamp] = field(default_factory=set)
    """Of its files; the one of a file that may have changed while it was read matches no file."""

    @classmethod
    def read(cls, path: Path) -> Index:
        """The index in a file; an empty one if there is none."""
        try:
            version, *stamps = path.read_bytes().decode().split(_END)
        except (OSError, ValueError):
            return cls()
        return cls(version, set(stamps))

    def write(self, path: Path, parts: Path) -> None:
        """Writes it to a file."""
        durable.replace(path, _END.join([self.version or "", *sorted(self.stamps)]).encode(), parts)


@dataclass(frozen=True)
class Changes:
    """A folder compared with its index."""

    files: Mapping[str, File | None]
    """Files that were read, and None for those that are gone."""
    stamps: dict[str, Stamp]
    """Of all files of the folder, by path."""

    @property
    def are_many(self) -> bool:
        """Whether the next comparison is worth a new index."""
        return len(self.files) > max(_STALE, len(self.stamps) // _STALE)


def changes(store: Store, folder: Path, index: Index, *, adopt: bool = False) -> Changes:
    """What changed. New contents are kept in the store: copied or, with `adopt`, as links to the files, which then are
    read-only. Raises Refused, with all faults, for what is no regular file.
    """
    settled = _settled(store, folder)
    stamps = listing.stamps(folder, settled if _is_of_one_system(store, folder) else None)
    unread = [path for path, stamp in stamps.items() if stamp not in index.stamps]
    found: dict[str, File | None] = {}
    faults = []

    def take(path: str) -> None:
        try:
            _, found[path], about = _take(store, folder, path, adopt=adopt)
        except Refused as error:
            faults.append(str(error))
        else:
            is_old = max(about.st_mtime_ns, about.st_ctime_ns) < settled
            stamps[path] = listing.stamp(about, path) if is_old else f"- - - - {path}"

    with ThreadPoolExecutor(_THREADS) as pool:
        # Not all at once: what waits for a thread takes more memory than what is known of a file.
        for start in range(0, len(unread), _FILES_PER_BATCH):
            list(pool.map(take, unread[start : start + _FILES_PER_BATCH]))
    if faults:
        raise all_of(faults)
    before = {stamp.split(" ", 4)[4] for stamp in index.stamps.difference(stamps.values())}
    found.update(dict.fromkeys(before - stamps.keys()))
    return Changes(found, stamps)


def _take(store: Store, folder: Path, path: str, *, adopt: bool) -> tuple[str, File, os.stat_result]:
    place = folder / path
    for _ in range(_MOST_WRITES):
        with contextlib.suppress(FileNotFoundError), _readable(place, path) as source:
            _write_out(source)
            before = os.fstat(source.fileno())
            executable = bool(before.st_mode & stat.S_IXUSR)
            file = (store.adopt if adopt else store.copy)(place, source, executable=executable)
            after = os.fstat(source.fileno())
            is_same = (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
            # The times of the dataset's own files, such as those of an opened version, change when they are used.
            if is_same or (after.st_size == before.st_size and store.is_own(file, source)):
                return path, file, after if adopt else before
            if before.st_nlink == 1 < after.st_nlink:  # only its adoption can have given it another name
                store.disown(file, after)
    raise Refused(listing.changing(path))


def _readable(place: Path, path: str) -> BinaryIO:
    try:
        return place.open("rb", buffering=0)
    except PermissionError:
        raise Refused(listing.unreadable(place, path)) from None


def _write_out(source: BinaryIO) -> None:
    """Writes a file that changed lately to the disk: then it gets another time if it changes again."""
    about = os.fstat(source.fileno())
    if max(about.st_mtime_ns, about.st_ctime_ns) > time.time_ns() - _UNWRITTEN_NS:
        with contextlib.suppress(OSError):  # nobody can write to it there, such as on a volume that is read-only
            os.fsync(source.fileno())


def _settled(store: Store, folder: Path) -> int:
    """A time, in nanoseconds: a file with an older one gets another one if it changes from now on."""
    if not _is_of_one_system(store, folder):
        # Nothing can be written there to see how that file system counts time.
        return time.time_ns() - _OTHER_CLOCK_NS
    with durable.part(store.parts) as probe:
        probe.touch()
        return probe.stat().st_mtime_ns - _TICK_NS


def _is_of_one_system(store: Store, folder: Path) -> bool:
    """Whether a folder is on the dataset's file system."""
    return folder.stat().st_dev == store.root.stat().st_dev
