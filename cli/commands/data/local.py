"""Files of this machine: what a folder has, and files that appear under their names once they are complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tensorplane.components.base import names
from tensorplane.components.base.problems import legible
from tensorplane.core import whole_file
from tensorplane.core.errors import UserError

CHUNK = 1 << 20
File = tuple[str, int, bool]
"""SHA-256 of the content, bytes, whether it is executable."""
_MOST_LISTINGS = 10
"""How often a folder is listed again that changes. New files may come on and on."""


def files(folder: Path) -> dict[str, File]:
    """The files of a folder by their paths. A UserError, with a line for each, for what is no regular file."""
    paths = _settled(folder)
    with ThreadPoolExecutor() as pool:
        return dict(zip(paths, pool.map(lambda path: _of(folder / path), paths), strict=True))


def _settled(folder: Path) -> list[str]:
    """The paths of the files. A file that is moved from one folder to another while they are listed may be in neither:
    then the next list has it.
    """
    paths = _list_files(folder)
    for _ in range(_MOST_LISTINGS):
        before, paths = paths, _list_files(folder)
        if paths == before:
            break
    return paths


def _list_files(folder: Path) -> list[str]:
    problems: list[str] = []
    paths: list[str] = []
    # By itself, os.walk passes over folders that it cannot read, and their files would be removed from the dataset.
    for at, folders, files_there in os.walk(folder, onerror=lambda error: problems.extend(_unreadable(error))):
        folders.sort()
        for name in (*sorted(files_there), *(each for each in folders if (Path(at) / each).is_symlink())):
            path = Path(at) / name
            if not os.path.lexists(path):  # moved since, and in the next list
                continue
            if path.is_symlink() or not path.is_file():
                problems.append(f"{legible(str(path))}: is no regular file; a dataset holds files alone")
            elif not _is_text(str(path.relative_to(folder))):
                problems.append(f"{legible(str(path))}: its name is not UTF-8; rename it")
            else:
                paths.append(str(path.relative_to(folder)))
    if problems:
        raise UserError(*problems)
    return paths


def _is_text(path: str) -> bool:
    """As `tensorplane.datasets.tree.is_text`: commands run without the library of the pods."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unreadable(error: OSError) -> Iterator[str]:
    if not isinstance(error, FileNotFoundError):  # as of a folder that was moved since
        yield f"{legible(str(error.filename))}: {error.strerror}; make the folder readable, or move it away"


def _of(path: Path) -> File:
    with path.open("rb") as file:
        digest, size = names.sha256(), 0
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)  # of what the digest is of: somebody may append to the file
        mode = os.fstat(file.fileno()).st_mode
    return digest.hexdigest(), size, bool(mode & 0o100)


def of(path: Path) -> File | None:
    """One file; None if there is none."""
    return _of(path) if path.is_file() and not path.is_symlink() else None


@contextmanager
def written(path: Path, *, executable: bool) -> Iterator[BinaryIO]:
    """A new file, which replaces another of its name at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file.replaced(path, mode=0o755 if executable else 0o644) as file:
        yield file
