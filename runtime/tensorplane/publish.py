"""Publishes a model version for model servers: atomic and durable, never overwriting another."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

_RUN = Path("assets.extra") / "run"


def publish(write: Callable[[Path], object], base: Path, *, run: str) -> int:
    """Publish the folder that `write` fills as the next version below `base`. Returns its number, from 1.

    `run` is the publisher. If it already published the newest version and was restarted, that version is returned. If
    other runs have published since, the settings returned to this run, and its model becomes the newest again.
    """
    base.mkdir(parents=True, exist_ok=True)
    newest = _newest(base)
    if newest and _published_by(base / str(newest)) == run:
        return newest
    # Servers only load folders with a numeric name, so they ignore this one.
    draft = base / f".draft-{run}"
    shutil.rmtree(draft, ignore_errors=True)
    write(draft)
    (draft / _RUN).parent.mkdir(exist_ok=True)
    (draft / _RUN).write_text(run)
    _flush(draft)
    version = newest + 1
    # A rename never replaces a folder with content: the second publisher gets an error.
    draft.rename(base / str(version))
    _sync(base)
    return version


def is_superseded(base: Path, *, run: str) -> bool:
    """Whether another run has published the newest version below `base`."""
    newest = _newest(base) if base.is_dir() else 0
    return bool(newest) and _published_by(base / str(newest)) not in (None, run)


def _newest(base: Path) -> int:
    return max((int(path.name) for path in base.iterdir() if path.name.isdecimal()), default=0)


def _published_by(folder: Path) -> str | None:
    marker = folder / _RUN
    return marker.read_text() if marker.exists() else None


def _flush(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
