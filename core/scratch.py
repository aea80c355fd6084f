"""Temporary folders that are removed afterwards, even if the process that created them was killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tensorplane.core import file_lock
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
        file_lock.take(held, wait=True)
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
        yield file_lock.take(handle, wait=wait)
    finally:
        os.close(handle)
