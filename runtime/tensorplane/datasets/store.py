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
    collecting its time is that of the last `collect_now`, or of the first commit

Nothing in objects, trees, commits and branches ever changes, so a reader never sees half of a version. A commit that
fails removes the objects that it wrote (`attempt`); one that is killed leaves at most objects that nothing
refers to, which `collect` deletes.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from tensorplane.datasets import durable, tree
from tensorplane.datasets.errors import Cut, Gone, Refused
from tensorplane.datasets.tree import File

_CHUNK = 1 << 20
_EXECUTABLE = ".x"
_PREFIX = 2
VERSIONS, TMP = "versions", "tmp"
KINDS = ("objects", "trees", "commits")
_COLLECTING = "collecting"
_BACKDATED_NS = 10**10
"""Longer than the steps in which any file system counts time."""


class Store:
    """The objects of one dataset. They are on the disk once `sync` returns."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.parts = root / TMP
        self.trash = root / "trash"
        self._changed: set[Path] = set()
        self._written: dict[tuple[str, str], list[int]] | None = None
        """Of an attempt: kind and name of each object that it wrote, and the times that its threads gave the files."""

    @contextlib.contextmanager
    def attempt(self) -> Iterator[Store]:
        """The store for one commit: if the block fails, the objects that it wrote are removed, and a volume that it has
        filled has room again. Those that another commit uses meanwhile stay, and so does what was sent before the
        connection broke (Cut), and what `use` has marked: whether another commit uses that, too, no longer shows.
        Within an attempt, the same one.
        """
        if self._written is not None:
            yield self
            return
        store = copy.copy(self)
        store._written = {}
        try:
            yield store
        except Cut:
            raise
        except BaseException:
            store._undo()
            raise

    def published(self) -> None:
        """Everything that was written so far is of a commit now, and stays."""
        if self._written is not None:
            self._written = {}

    @property
    def exists(self) -> bool:
        """Whether anything was ever committed to it."""
        return (self.root / "branches").is_dir()

    def is_in(self, folder: Path) -> bool:
        """Whether a folder has it somewhere in it, or is it."""
        # Not by their names: a volume may be mounted twice.
        about, root = folder.stat(), self.root.absolute()
        return any(os.path.samestat(about, each.stat()) for each in (root, *root.parents) if each.exists())

    def create(self) -> None:
        """Creates its folders unless they exist."""
        if not self.trash.is_dir():
            for name in (*KINDS, VERSIONS, "branches", "labels", "indexes", TMP, "trash"):
                (self.root / name).mkdir(parents=True, exist_ok=True)
            durable.sync(self.root, self.root.parent, self.root.parent.parent)

    def last_collection(self) -> int:
        """When `collect_now` was called last, by the clock that stamps files, in nanoseconds; if it never was, some
        moment.
        """
        # Created, because a client of NFS may remember for a minute that there is no such file.
        opened = os.open(self.root / _COLLECTING, os.O_RDONLY | os.O_CREAT, 0o666)
        try:
            return os.fstat(opened).st_mtime_ns
        finally:
            os.close(opened)

    def begin_collection(self) -> int:
        """The same for a call that begins. Takes no space, which there may not be."""
        (self.root / _COLLECTING).touch()
        return self.last_collection()

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
        for folder in list_folder(self.root / kind):
            yield from (folder.name + path.name for path in sorted(folder.iterdir()))

    def get(self, node: str) -> bytes:
        """The content of a tree's node. Raises Refused if retention has deleted it."""
        return self._content("trees", node)

    def put(self, content: bytes) -> str:
        """Keeps a tree's node: its id."""
        return self._keep("trees", content)

    def commit(self, commit: str) -> bytes:
        """The content of a commit. Raises Refused if there is none."""
        return self._content("commits", commit)

    def put_commit(self, content: bytes) -> str:
        """Keeps a commit: its id."""
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

    def use(self, needed: Callable[[], Iterable[tuple[str, str]]]) -> bool:
        """Whether objects, by kind and name, are all there and on the disk, for who is about to say that they are
        needed. They stay for half a minute at least, whatever deletes meanwhile.
        """
        while True:
            now = self.last_collection()
            if not all(self.has(kind, name) for kind, name in needed()):
                return False
            self.sync()
            if self.last_collection() == now:
                return True

    def blob(self, file: File) -> Path:
        """The content of a file. A link shares its mode, so the executable one is another object."""
        return self.path("objects", blob_name(file))

    def copy(self, path: Path, source: BinaryIO, *, executable: bool) -> File:
        """Keeps a copy of a file, as it is read: its digest is of what was written. `path` is not used."""
        with durable.part(self.parts) as part:
            made = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            with os.fdopen(made, "wb", buffering=0) as target:
                file = _hashed(source, executable, target)
                return self._keep_file(file, part, made)

    def adopt(self, path: Path, source: BinaryIO, *, executable: bool) -> File:
        """Keeps a file itself, by another name: nobody may write to it again. A copy where the file system cannot."""
        with durable.part(self.parts) as part:
            try:
                os.link(path, part)
            except OSError:
                return self.copy(path, source, executable=executable)
            file = _hashed(source, executable)
            return self._keep_file(file, part, source.fileno())

    def is_own(self, file: File, source: BinaryIO) -> bool:
        """Whether an open file is the object itself, and has this content still: it is read again."""
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(source.fileno()), self.blob(file).stat()):
                source.seek(0)
                return _hashed(source, file.executable) == file
        return False

    def disown(self, file: File, about: os.stat_result) -> None:
        """Removes the name of an adopted file that has changed since: it is not the content that its name says."""
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(about, self.blob(file).stat()):
                self.blob(file).unlink()

    def _keep_file(self, file: File, part: Path, opened: int) -> File:
        if not self._is_kept("objects", blob_name(file)):
            os.fchmod(opened, durable.READ_ONLY | (0o111 if file.executable else 0))
            os.fsync(opened)
            self._name(part, "objects", blob_name(file))
        return file

    def sync(self) -> None:
        """Waits until everything kept so far is on the disk."""
        while self._changed:
            changed, self._changed = self._changed, set()
            durable.sync(*changed)

    def link(self, file: File, target: Path) -> None:
        """Gives a file of a version a name; copies it where the file system allows no further link. Raises Refused if
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
        """Deletes an object, or a version's folder, unless it is in use; whether it was deleted.

        That is asked once it has lost its name: who needs it later finds that it is gone, who used it before is seen.
        """
        path, gone = self.path(kind, name), self.trash / f"{kind}-{name}"
        try:
            if path.is_dir():
                path.chmod(0o755)  # a folder that is read-only cannot be moved
            path.rename(gone)
            if not is_used(gone):
                self.destroy(gone)
                return True
        except FileNotFoundError:
            return False
        with contextlib.suppress(OSError):
            gone.rename(path)
        return False

    def destroy(self, path: Path) -> None:
        """Deletes what is in `tmp` or in the trash. Raises FileNotFoundError if somebody has just taken it back."""
        if path.is_dir():
            taken = self.trash / secrets.token_hex(8)
            path.chmod(0o755)
            path.rename(taken)  # nobody takes back a folder that is half deleted
            remove(taken)
        else:
            path.unlink()

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
        if not self._is_kept(kind, name):
            with durable.part(self.parts) as part:
                durable.write(part, content)
                self._name(part, kind, name)
        return name

    def _name(self, part: Path, kind: str, name: str) -> None:
        path = self.path(kind, name)
        with contextlib.suppress(FileExistsError):
            path.parent.mkdir()
            self._changed.add(path.parent.parent)
        self._changed.add(path.parent)
        marks, mark = list[int](), self._mark(part)
        if self._written is not None and mark is not None:
            marks = self._written.setdefault((kind, name), marks)
            marks.append(mark)  # before the others can see it
        while True:
            try:
                os.link(part, path)
            except FileExistsError:
                # Another was first. If it is another commit, it may have used its own, which is not ours to remove.
                if self._is_kept(kind, name):
                    return
            except OSError:  # the file system has no hard links, or allows this file no further one
                marks.clear()  # it may replace that of another commit
                part.rename(path)
                break
            else:
                break

    def _is_kept(self, kind: str, name: str) -> bool:
        """Whether an object need not be written. One that this attempt wrote keeps its mark."""
        if self._written is None:
            return self.has(kind, name)
        path = self.path(kind, name)
        for _ in range(2):
            with contextlib.suppress(FileNotFoundError):
                # Its time first: a thread notes the mark before the file can be seen.
                written = _time_ns(path)
                return written in self._written.get((kind, name), ()) or self.has(kind, name)
            with contextlib.suppress(OSError):  # not there, or mounted read-only
                (self.trash / f"{kind}-{name}").rename(path)
        return False

    def _mark(self, part: Path) -> int | None:
        """Gives an attempt's file a time at which nobody can have used it, so that `has` of any other commit shows."""
        about = part.stat()
        # The file of an adopted object is its owner's, and removing our name of it frees no space.
        if self._written is None or about.st_nlink > 1:
            return None
        at = about.st_mtime_ns - _BACKDATED_NS - secrets.randbelow(10**9)
        try:
            os.utime(part, ns=(at, at))
        except OSError:  # a file system that lets nobody set times: the object stays for `collect`
            return None
        return part.stat().st_mtime_ns

    def _undo(self) -> None:
        """Removes what the attempt wrote and nobody uses."""
        for (kind, name), marks in (self._written or {}).items():
            with contextlib.suppress(OSError):  # of the volume, such as the one for which the commit fails
                self.discard(kind, name, _used_after(marks))


def blob_name(file: File) -> str:
    """The name of a file's content among the objects."""
    return file.digest + (_EXECUTABLE if file.executable else "")


def list_folder(folder: Path) -> list[Path]:
    """What is in a folder; nothing if it does not exist. Not by a pattern, which finds nothing where this user may not
    list it.
    """
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []


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
    """Removes a file or a folder that is nowhere in use, also where its folders are read-only."""
    if not path.is_symlink() and path.is_dir():
        path.chmod(0o700)
        for each in path.iterdir():
            remove(each)
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def _time_ns(path: Path) -> int:
    """When a file was written or used. Opened, because a client of NFS may remember times of files for a minute."""
    with path.open("rb") as file:
        return os.fstat(file.fileno()).st_mtime_ns


def _used_after(marks: Collection[int]) -> Callable[[Path], bool]:
    """Whether somebody has used a file since it was given one of these times."""
    return lambda path: _time_ns(path) not in marks


def used_since(moment: float) -> Callable[[Path], bool]:
    """Whether something was written or used since a moment, in seconds since 1970."""

    def is_used(path: Path) -> bool:
        try:
            return path.stat().st_mtime >= moment
        except FileNotFoundError:
            return False

    return is_used
