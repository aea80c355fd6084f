"""Numbered versions of a model in a folder, as model servers read them: each complete once it has its number, durable,
and never overwritten. It only requires the standard library.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

from tensorplane.checkpoints import disk

RUN = Path("assets.extra") / "run"
"""File of a version with its publisher; model servers ignore the folder."""


def add(write: Callable[[Path], object], base: Path, publisher: str) -> int:
    """Add a version below `base`, filled by `write`, which gets the folder to create; its number.

    If the publisher has already published the newest version, that number is returned.
    """
    base.mkdir(parents=True, exist_ok=True)
    last = newest(base)
    if last and published_by(base / str(last)) == publisher:
        return last
    # Servers only load folders with a numeric name, so they ignore this one.
    draft = base / f".draft-{publisher}"
    shutil.rmtree(draft, ignore_errors=True)
    try:
        write(draft)
        (draft / RUN).parent.mkdir(exist_ok=True)
        (draft / RUN).write_text(publisher)
        for path in (*draft.rglob("*"), draft):
            disk.flush(path)
        version = _renamed(draft, base, last + 1)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)  # it may have filled the volume
        raise
    disk.flush(base)
    return version


def _renamed(draft: Path, base: Path, version: int) -> int:
    """Make the draft this version, or a later one if another run publishes at the same time."""
    while True:
        try:
            # A rename never replaces a folder with content.
            draft.rename(base / str(version))
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            version += 1
        else:
            return version


def is_superseded(base: Path, *, run: str) -> bool:
    """Whether another run has published the newest version below `base`."""
    last = newest(base)
    return bool(last) and published_by(base / str(last)) not in (None, run)


def newest(base: Path) -> int:
    """The number of the newest version below `base`; 0 without one."""
    return max(versions(base), default=0)


def versions(base: Path) -> list[int]:
    """The numbers of all versions below `base`."""
    return [int(path.name) for path in base.iterdir() if path.name.isdecimal()] if base.is_dir() else []


def published_by(folder: Path) -> str | None:
    """Who published the version in this folder; None if it does not say."""
    marker = folder / RUN
    return marker.read_text() if marker.exists() else None
