"""Folders that can be cloned: subvolumes on btrfs, reflinks or plain copies elsewhere."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from tensorplane.embedded.csi import btrfs, mounts, records
from tensorplane.embedded.csi.records import Snapshot, Volume

_NEW, _GONE = ".new-", ".gone-"
_OPEN_TO_PODS = 0o777  # pods run as different users; Kubernetes decides who may mount a volume at all
_FICLONE = 0x40049409


class Storage(Protocol):
    """The operations on a pool's folders. Each is atomic, even if the driver is killed.

    The results of `create` and `copy` are on disk when they return.
    """

    kind: str
    """For the log: how copies are made, and whether limits are enforced."""

    def announce(self, record: Path, content: Volume | Snapshot) -> None:
        """Writes the record of the next folder: on disk no later than the folder."""

    def create(self, path: Path) -> None:
        """Creates an empty folder."""

    def copy(self, source: Path, path: Path, *, read_only: bool) -> None:
        """Creates a folder with the source's content."""

    def delete(self, path: Path) -> None:
        """Deletes a folder."""

    def limit(self, path: Path, size: int) -> None:
        """Limits the bytes of a folder."""

    def usage(self, path: Path) -> int | None:
        """Bytes that a folder uses; None if the filesystem does not count them."""


def of(pool: Path, lock: int) -> Storage:
    """The best implementation for the pool's filesystem. Programs that outlive the driver keep `lock` open."""
    mount = mounts.at(pool)
    if mount and mount.kind == "btrfs":
        return Btrfs()
    return Copies(lock, reflinks=_has_reflinks(pool))


def clean(folder: Path, storage: Storage) -> None:
    """Deletes what a killed driver had started to create or delete."""
    for left in folder.glob(".*"):
        if left.name.startswith((_NEW, _GONE)):
            left.unlink() if left.is_file() else _remove(left, storage)


def _remove(left: Path, storage: Storage) -> None:
    if isinstance(storage, Btrfs) and btrfs.is_subvolume(left):
        btrfs.destroy(left)
    else:
        shutil.rmtree(left)


def _draft(path: Path, storage: Storage) -> Path:
    """A free sibling path: what an earlier, failed call left there is deleted."""
    draft = path.with_name(_NEW + path.name)
    if draft.exists():
        _remove(draft, storage)
    return draft


def _put_aside(path: Path) -> Path:
    """Renames a folder away, atomically and durably."""
    aside = path.with_name(f"{_GONE}{path.name}-{os.urandom(4).hex()}")
    path.rename(aside)
    records.keep(path.parent)
    return aside


class Btrfs:
    """Subvolumes."""

    kind = "btrfs: copies at once, limits hold"

    def announce(self, record: Path, content: Volume | Snapshot) -> None:
        # A commit contains all earlier changes: the one that makes the content durable includes its record.
        records.put(record, content, btrfs.settle)

    def create(self, path: Path) -> None:
        draft = _draft(path, self)
        btrfs.create(draft)
        draft.chmod(_OPEN_TO_PODS)
        draft.rename(path)
        records.keep(path.parent)

    def copy(self, source: Path, path: Path, *, read_only: bool) -> None:
        btrfs.snapshot(source, path, read_only=read_only)

    def delete(self, path: Path) -> None:
        btrfs.destroy(_put_aside(path))

    def limit(self, path: Path, size: int) -> None:
        btrfs.limit(path, size)

    def usage(self, path: Path) -> int | None:
        return btrfs.usage(path)


class Copies:
    """Ordinary folders."""

    def __init__(self, lock: int, *, reflinks: bool) -> None:
        self._lock = lock
        how = "reflinks: copies of files share their blocks" if reflinks else "plain copies"
        self.kind = f"{how}, limits do not hold"

    def announce(self, record: Path, content: Volume | Snapshot) -> None:
        records.write(record, content)

    def create(self, path: Path) -> None:
        draft = _draft(path, self)
        draft.mkdir()
        draft.chmod(_OPEN_TO_PODS)
        draft.rename(path)
        records.keep(path.parent)

    def copy(self, source: Path, path: Path, *, read_only: bool) -> None:
        draft = _draft(path, self)
        # A program that outlives a killed driver makes the next driver wait for the lock.
        subprocess.run(
            ["cp", "--archive", "--reflink=auto", "--sparse=auto", "--no-target-directory", "--", source, draft],
            check=True,
            capture_output=True,
            pass_fds=[self._lock],
        )
        subprocess.run(["sync", "--file-system", "--", draft], check=True, pass_fds=[self._lock])
        draft.rename(path)
        records.keep(path.parent)

    def delete(self, path: Path) -> None:
        shutil.rmtree(_put_aside(path))

    def limit(self, path: Path, size: int) -> None:
        pass

    def usage(self, path: Path) -> int | None:
        return None


def _has_reflinks(pool: Path) -> bool:
    with tempfile.TemporaryFile(dir=pool) as one, tempfile.TemporaryFile(dir=pool) as other, suppress(OSError):
        one.write(b"x" * 4096)
        one.flush()
        fcntl.ioctl(other.fileno(), _FICLONE, one.fileno())
        return True
    return False
