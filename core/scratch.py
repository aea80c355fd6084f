"""Temporary folders that are removed afterwards, even if the process that created them was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tensorplane.core.paths import cache


@contextmanager
def scratch(name: str) -> Iterator[Path]:
    """A new folder inside the cache (so that a rename into the cache is atomic), removed at the end.

    A folder is locked while its owner lives. An unlocked one belonged to a killed run, and is removed now.
    """
    parent = cache() / "scratch"
    parent.mkdir(parents=True, exist_ok=True)
    with _locked(parent, wait=True):
        _sweep(parent)
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))
        held = os.open(folder, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def _sweep(parent: Path) -> None:
    for folder in parent.iterdir():
        with _locked(folder, wait=False) as ours:
            if ours:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path, *, wait: bool) -> Iterator[bool]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
