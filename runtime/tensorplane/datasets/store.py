"""A dataset's folder on its volume, and the content-addressed objects in it.

    objects/   contents of files by their SHA-256, read-only
    trees/     nodes of versions' trees by their ids
    commits/   commits by their ids
    branches/  of each branch a log: one file per commit, numbered from 1 without gaps
    labels/    names of commits
    versions/  versions as plain files, hard links to `objects`
    indexes/   what is known of folders that were committed
    tmp/       files that are being written
    trash/     what is being deleted

Nothing in objects, trees, commits and branches ever changes, so a reader never sees half of a version, and a process
that is killed leaves at most objects that nothing refers to, which `collect` deletes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from tensorplane.datasets import durable, tree
from tensorplane.datasets.refused import Gone, Refused
from tensorplane.datasets.tree import File

_CHUNK = 1 << 20
_EXECUTABLE = ".x"
_PREFIX = 2
VERSIONS = "versions"
_KINDS = ("objects", "trees", "commits")


class Store:
    """The objects of one dataset. They are on the disk once `sync` returns."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.parts = root / "tmp"
        self.trash = root / "trash"
        self._changed: set[Path] = set()

    @property
    def exists(self) -> bool:
        """Whether anything was ever committed to it."""
        return (self.root / "branches").is_dir()

    def create(self) -> None:
        """Create its folders unless they exist."""
        if not self.trash.is_dir():
            for name in (*_KINDS, VERSIONS, "branches", "labels", "indexes", "tmp", "trash"):
                (self.root / name).mkdir(parents=True, exist_ok=True)
            durable.sync(self.root, self.root.parent, self.root.parent.parent)

    def path(self, kind: str, name: str) -> Path:
        """Where an object, or a version's folder, is."""
        if kind == VERSIONS:
            return self.root / kind / name
        return self.root / kind / name[:_PREFIX] / name[_PREFIX:]

    def names(self, kind: str) -> Iterator[str]:
        """All objects of a kind."""
        if kind == VERSIONS:
            yield from sorted(path.name for path in (self.root / kind).iterdir())
            return
        for folder in sorted((self.root / kind).glob("*")):
            yield from (folder.name + path.name for path in sorted(folder.iterdir()))

    def get(self, node: str) -> bytes:
        """The content of a tree's node. Raises Refused if retention has deleted it."""
        return self._content("trees", node)

    def put(self, content: bytes) -> str:
        """Keep a tree's node: its id."""
        return self._keep("trees", content)

    def commit(self, commit: str) -> bytes:
        """The content of a commit. Raises Refused if there is none."""
        return self._content("commits", commit)

    def put_commit(self, content: bytes) -> str:
        """Keep a commit: its id."""
        return self._keep("commits", content)

    def has(self, kind: str, name: str) -> bool:
        """Whether an object is there; it then stays for the grace period of `collect` even if nothing refers to it."""
        path = self.path(kind, name)
        for _ in range(2):
            with contextlib.suppress(FileNotFoundError):
                os.utime(path)
                self._changed.update((path.parent, path.parent.parent))  # its writer may not have come so far
                return True
            with contextlib.suppress(OSError):  # not there, or mounted read-only
                (self.trash / f"{kind}-{name}").rename(path)
        return False

    def blob(self, file: File) -> Path:
        """The content of a file. A link shares its mode, so the executable one is another object."""
        return self.path("objects", blob_name(file))

    def copy(self, path: Path, source: BinaryIO, *, executable: bool) -> File:
        """Keep a copy of a file, as it is read: its digest is of what was written. `path` is not used."""
        with durable.part(self.parts) as part:
            made = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            with os.fdopen(made, "wb", buffering=0) as target:
                file = _hashed(source, executable, target)
                return self._keep_file(file, part, made)

    def adopt(self, path: Path, source: BinaryIO, *, executable: bool) -> File:
        """Keep a file itself, by another name: nobody may write to it again. A copy where the file system cannot."""
        with durable.part(self.parts) as part:
            try:
                os.link(path, part)
            except OSError:
                return self.copy(path, source, executable=executable)
            file = _hashed(source, executable)
            return self._keep_file(file, part, source.fileno())

    def _keep_file(self, file: File, part: Path, opened: int) -> File:
        if not self.has("objects", blob_name(file)):
            os.fchmod(opened, durable.READ_ONLY | (0o111 if file.executable else 0))
            os.fsync(opened)
            self._name(part, "objects", blob_name(file))
        return file

    def sync(self) -> None:
        """Wait until everything kept so far is on the disk."""
        while self._changed:
            changed, self._changed = self._changed, set()
            durable.sync(*changed)

    def link(self, file: File, target: Path) -> None:
        """Give a file of a version a name; copy it where the file system allows no further link. Raises Refused if
        retention has deleted it.
        """
        blob = self.blob(file)
        try:
            os.link(blob, target)
        except FileNotFoundError:
            if not self.has("objects", blob_name(file)):
                raise Gone(f"{target.name}: its content was deleted by the retention; choose a kept version") from None
            os.link(blob, target)
        except FileExistsError:
            raise
        except OSError:
            # Another file system, the most links of a file, or somebody else's file.
            with blob.open("rb") as source, target.open("xb") as copy:
                while chunk := source.read(_CHUNK):
                    copy.write(chunk)
            target.chmod(stat.S_IMODE(blob.stat().st_mode))

    def discard(self, kind: str, name: str, is_used: Callable[[Path], bool]) -> bool:
        """Delete an object, or a version's folder, unless it is in use; whether it was deleted.

        That is asked once it has lost its name: who needs it later finds that it is gone, who used it before is seen.
        """
        path, gone = self.path(kind, name), self.trash / f"{kind}-{name}"
        try:
            if path.is_dir():
                path.chmod(0o755)  # a folder that is read-only cannot be moved
            path.rename(gone)
        except FileNotFoundError:
            return False
        if is_used(gone):
            with contextlib.suppress(OSError):
                gone.rename(path)
            return False
        remove(gone)
        return True

    def _content(self, kind: str, name: str) -> bytes:
        path = self.path(kind, name)
        with contextlib.suppress(FileNotFoundError):
            return path.read_bytes()
        if self.has(kind, name):
            return path.read_bytes()
        if kind == "trees":
            raise Gone(f"{name[:12]}: deleted by the retention; choose a kept version")
        raise Refused(f"{name[:12]}: does not exist")

    def _keep(self, kind: str, content: bytes) -> str:
        name = tree.content_id(content)
        if not self.has(kind, name):
            with durable.part(self.parts) as part:
                durable.write(part, content)
                self._name(part, kind, name)
        return name

    def _name(self, part: Path, kind: str, name: str) -> None:
        path = self.path(kind, name)
        with contextlib.suppress(FileExistsError):
            path.parent.mkdir()
            self._changed.add(path.parent.parent)
        part.rename(path)
        self._changed.add(path.parent)


def blob_name(file: File) -> str:
    """The name of a file's content among the objects."""
    return file.digest + (_EXECUTABLE if file.executable else "")


def _hashed(source: BinaryIO, executable: bool, target: BinaryIO | None = None) -> File:
    """What is read, and written to `target`."""
    digest, size = hashlib.sha256(), 0
    while chunk := source.read(_CHUNK):
        digest.update(chunk)
        size += len(chunk)
        view = memoryview(chunk)
        while target and view:
            view = view[target.write(view) :]
    return File(digest.hexdigest(), size, executable)


def remove(path: Path) -> None:
    """Remove a file or a folder that is nowhere in use, also where its folders are read-only."""
    if not path.is_symlink() and path.is_dir():
        path.chmod(0o700)
        for each in path.iterdir():
            remove(each)
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def used_since(seconds: float) -> Callable[[Path], bool]:
    """Whether something was written or used within the last so many seconds."""
    limit = time.time() - seconds

    def is_used(path: Path) -> bool:
        try:
            return path.stat().st_mtime >= limit
        except FileNotFoundError:
            return False

    return is_used
