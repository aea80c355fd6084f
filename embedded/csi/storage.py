"""Folders that can be copied at once: subvolumes on btrfs, reflinks or plain copies elsewhere."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from embedded.csi import btrfs, mounts, records
from embedded.csi.records import Snapshot, Volume

_NEW, _GONE = ".new-", ".gone-"
_OPEN_TO_PODS = 0o777  # pods run as users of their own; who may mount a volume at all is Kubernetes' to say
_FICLONE = 0x40049409


class Storage(Protocol):
    """What a pool's folders are made with. Each call happens as a whole or, when it is killed, not at all.

    What `create` and `copy` made is on disk when they return.
    """

    kind: str
    """For people: how copies are made and whether limits hold."""

    def announce(self, record: Path, content: Volume | Snapshot) -> None:
        """Puts the record of what is made next there: on disk no later than that."""

    def create(self, path: Path) -> None:
        """Makes an empty folder."""

    def copy(self, source: Path, path: Path, *, read_only: bool) -> None:
        """Makes a folder with the source's content."""

    def delete(self, path: Path) -> None:
        """Deletes a folder."""

    def limit(self, path: Path, size: int) -> None:
        """Lets a folder take no more than so many bytes."""

    def usage(self, path: Path) -> int | None:
        """Bytes that a folder takes; None where nobody counts them."""


def of(pool: Path, lock: int) -> Storage:
    """The best that the pool's filesystem can do. Programs that outlive the driver keep `lock` open."""
    mount = mounts.at(pool)
    if mount and mount.kind == "btrfs":
        return Btrfs()
    return Copies(lock, reflinks=_has_reflinks(pool))


def clean(folder: Path, storage: Storage) -> None:
    """Deletes what a killed driver had begun to make or to delete."""
    for left in folder.glob(".*"):
        if left.name.startswith((_NEW, _GONE)):
            left.unlink() if left.is_file() else _remove(left, storage)


def _remove(left: Path, storage: Storage) -> None:
    if isinstance(storage, Btrfs) and btrfs.is_subvolume(left):
        btrfs.destroy(left)
    else:
        shutil.rmtree(left)


def _draft(path: Path, storage: Storage) -> Path:
    """A name beside the path that is free: what an earlier call left there when it failed is deleted."""
    draft = path.with_name(_NEW + path.name)
    if draft.exists():
        _remove(draft, storage)
    return draft


def _put_aside(path: Path) -> Path:
    """Takes a folder's name away, at once and for good."""
    aside = path.with_name(f"{_GONE}{path.name}-{os.urandom(4).hex()}")
    path.rename(aside)
    records.keep(path.parent)
    return aside


class Btrfs:
    """Subvolumes."""

    kind = "btrfs: copies at once, limits hold"

    def announce(self, record: Path, content: Volume | Snapshot) -> None:
        # Each commit holds all that was changed before it: the one that makes the content last keeps its record, too.
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
        # A program that goes on after the driver was killed keeps the next driver waiting at the lock.
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
