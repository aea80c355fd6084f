"""Versions as plain files: folders of hard links, which take no space and cannot be written through.

A version has one such folder, made when it is first opened and complete once it has its name; later ones only find it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from tensorplane.datasets import durable, tree
from tensorplane.datasets.errors import Refused
from tensorplane.datasets.store import Store, remove
from tensorplane.datasets.tree import File

_FOLDER_MODE = 0o555
_NO_WRITER = (errno.EROFS, errno.EACCES, errno.EPERM)


def opened(store: Store, version: str) -> Path:
    """The folder of a version. Raises Refused if retention has deleted it."""
    path = store.root / "versions" / version
    for _ in range(2):
        with contextlib.suppress(OSError):  # not there, or mounted read-only
            os.utime(path)  # in use: `collect` leaves it for the grace period
        if path.is_dir():
            return path
        with contextlib.suppress(OSError):
            (store.trash / f"versions-{version}").rename(path)
    try:
        _make(store, version, path)
    except OSError as error:
        if error.errno not in _NO_WRITER or not Path(error.filename or "").is_relative_to(store.parts):
            raise
        problem = f"was not opened yet, and {store.root} cannot be written to here ({error.strerror})"
        raise Refused(f"{version[:12]}: {problem}; open it once where the volume is mounted for writing") from None
    if not path.is_dir():
        raise Refused(f"{path}: cannot be created; look at its folder's permissions")
    return path


def _make(store: Store, version: str, path: Path) -> None:
    with durable.part(store.parts) as part, _removed(part):
        write(store, part, tree.walk(store, version))
        part.chmod(0o755)  # a folder that is read-only cannot be moved
        with contextlib.suppress(OSError):
            part.rename(path)
            path.chmod(_FOLDER_MODE)


def made(store: Store, target: Path, files: Iterable[tuple[str, File]]) -> None:
    """The same as `write`, but the folder has its name once all files are in it. If not all can be, there is none."""
    if os.path.lexists(target):
        raise _exists(target)
    part = target.with_name(f".{secrets.token_hex(8)}")
    with _removed(part):
        write(store, part, files)
        try:
            part.rename(target)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            raise _exists(target) from None


def write(store: Store, target: Path, files: Iterable[tuple[str, File]]) -> None:
    """Makes files of a version in a new folder. Raises Refused if it exists."""
    try:
        target.mkdir(parents=True)
    except FileExistsError:
        raise _exists(target) from None
    folders = {target}
    for path, file in files:
        made = target / path
        if made.parent not in folders:
            made.parent.mkdir(parents=True, exist_ok=True)
            folders.update(one for one in made.parents if target in one.parents)
        store.link(file, made)
    for folder in sorted(folders, reverse=True):
        durable.sync(folder)
        folder.chmod(_FOLDER_MODE)


def _exists(target: Path) -> Refused:
    return Refused(f"{target}: exists; name a new folder")


def selected(store: Store, version: str, paths: Iterable[str]) -> Iterator[tuple[str, File]]:
    """The files at these paths, and those in the folders at these paths, each once. A slash at the start or the end
    does not count. Raises Refused if there is none.
    """
    chosen = {"/".join(filter(None, path.split("/"))): path for path in paths}
    for path, given in chosen.items():
        found = tree.find(store, version, path)
        if found is None:
            raise Refused(f"{given!r}: the version has no such file or folder")
        if path and any(above in chosen for above in _above(path)):
            continue
        if isinstance(found, File):
            yield path, found
        else:
            yield from tree.walk(store, found.id, f"{path}/" if path else "")


def _above(path: str) -> Iterator[str]:
    """The folders that a path is in, up to the whole version."""
    while path:
        path = path.rpartition("/")[0]
        yield path


@contextlib.contextmanager
def _removed(path: Path) -> Iterator[None]:
    try:
        yield
    finally:
        if path.is_dir():
            remove(path)
