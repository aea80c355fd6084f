"""The folders of finished tools: content-addressed, complete or absent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tensorplane.core import file_lock
from tensorplane.core.paths import cache
from tensorplane.core.step import Step

# Debian's folders of root's programs; after `su`, they may be missing on PATH.
_SYSTEM = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def tools_folder() -> Path:
    """Parent of every tool's folder."""
    return cache() / "tools"


@contextmanager
def made_whole(folder: Path, step: Step) -> Iterator[Path | None]:
    """Yields an empty folder that becomes `folder` if the block succeeds, or None if another run has built it.

    A killed run leaves a draft, which the next one replaces. Concurrent runs wait for each other.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _turn(folder.with_name(f".{folder.name}.lock"), step):
        if folder.exists():
            yield None
            return
        draft = folder.with_name(f".{folder.name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        try:
            yield draft
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        draft.rename(folder)


@contextmanager
def _turn(lock: Path, step: Step) -> Iterator[None]:
    # The kernel releases the lock when the process ends, however it ends.
    with lock.open("w") as file:
        if not file_lock.take(file, wait=False):
            step.note("waiting for another run that is building it")
            file_lock.take(file, wait=True)
        yield


def on_path(program: str, *, aside: tuple[Path, ...] = ()) -> Path | None:
    """The program on this machine's PATH (or in a system folder), outside the folders `aside`."""
    folders = [*os.environ.get("PATH", "").split(os.pathsep), *_SYSTEM]
    search = os.pathsep.join(folder for folder in folders if folder and Path(folder) not in aside)
    found = shutil.which(program, path=search)
    return Path(found) if found else None
