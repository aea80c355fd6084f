"""Writes that survive SIGKILL and power loss: a file has its name only once its content is on the disk."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tensorplane.datasets.errors import Refused

READ_ONLY = 0o444
_PARALLEL_SYNCS = 16
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP)


@contextlib.contextmanager
def part(folder: Path) -> Iterator[Path]:
    """A path in `folder` that no other process uses. What is still there at the end is removed."""
    path = folder / secrets.token_hex(8)
    try:
        yield path
    finally:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def write(path: Path, data: bytes, mode: int = READ_ONLY) -> None:
    """Writes a new file, and waits for the disk."""
    made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with os.fdopen(made, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        os.fchmod(made, mode)
        os.fsync(made)


def replace(path: Path, data: bytes, parts: Path) -> None:
    """Gives a file this content; readers see the former one or this one. `parts`: a folder of the same file system."""
    with part(parts) as made:
        write(made, data)
        path.parent.mkdir(parents=True, exist_ok=True)
        made.rename(path)


def create(path: Path, data: bytes, parts: Path) -> bool:
    """Creates a file with this content unless it exists: of several processes exactly one succeeds.

    Whether it did. Its name is on the disk then. A file server may create the link and lose its answer, and refuse the
    repeated request: the number of links tells.
    """
    with part(parts) as made:
        write(made, data)
        try:
            os.link(made, path)
        except FileExistsError:
            if made.stat().st_nlink == 1:
                return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            raise Refused(f"{path.parent}: the file system has no hard links; use a volume that has them") from None
    sync(path.parent)
    return True


def sync(*folders: Path) -> None:
    """Waits until the names in these folders are on the disk. File systems write what is asked for at once together."""
    if len(folders) == 1:
        _sync(folders[0])
    elif folders:
        with ThreadPoolExecutor(min(len(folders), _PARALLEL_SYNCS)) as pool:
            list(pool.map(_sync, folders))


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
