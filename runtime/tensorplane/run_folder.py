"""The folder in which a run keeps its checkpoints: one writer at a time, and a note when the run has finished.

A run outlives the pods that compute it. When its gang restarts, a pod of the former gang may still be alive: on a node
that was paused, or cut off from the API server. A lease does not help there, because it runs out while its holder
sleeps. So the folder itself moves: whoever takes the run over renames it, and the paths of the former writer lead
nowhere. That writer gets an error at its next checkpoint, whenever it wakes up.

    checkpoints/digits-1a2b3c4d                              the run: a link to where it is, for all who read
    checkpoints/.digits-1a2b3c4d/<writer>/digits-1a2b3c4d    where it is, for its writer

It needs the standard library alone, because the launcher uses it in front of any command.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORD = "run.json"
"""File in a run's folder: the version of the library that ran it last, and whether it has finished."""
_ATTEMPTS = 100


class TakenOver(Exception):
    """Another gang has taken the run over."""


class RunFolder:
    """The folder of one run, by the path at which all its pods find it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writers = path.with_name(f".{path.name}")

    @property
    def finished(self) -> bool:
        """Whether the run came to its end: there is nothing left to compute."""
        return bool(self._record(self._path).get("finished"))

    def take_over(self, version: str) -> Path:
        """Make the caller the only writer, and return where it writes. `version` is the library's, for the record.

        TakenOver if another gang does the same and is later. The next call goes on with what a kill leaves half done.
        """
        folder = self._claimed() / self._path.name
        with self._unless_taken():
            if self._path.is_dir() and not self._path.is_symlink():
                # Written by a version that did not keep writers apart.
                self._path.rename(folder)
            folder.mkdir(exist_ok=True)
        self._link(folder)
        self._note(folder, version=version)
        return folder

    def finish(self, folder: Path) -> None:
        """Note that the run has finished, as its writer. TakenOver if another gang writes now."""
        self._note(folder, finished=True)

    def _claimed(self) -> Path:
        """The one folder of `_writers`, under a new name. Of two callers, the later one has it."""
        own = self._writers / uuid.uuid4().hex
        for _ in range(_ATTEMPTS):
            if not self._writers.exists():
                self._begin()
            with contextlib.suppress(FileNotFoundError):
                (former,) = self._writers.iterdir()
                former.rename(own)
                return own
        raise TakenOver(f"{self._path}: other gangs take this run over again and again")

    def _begin(self) -> None:
        """Make `_writers` with one folder in it, at once: of two callers, one makes it."""
        draft = self._path.with_name(f".draft-{uuid.uuid4().hex}")
        (draft / "first").mkdir(parents=True)
        try:
            draft.rename(self._writers)
        except OSError:
            shutil.rmtree(draft)
            if not self._writers.exists():
                raise

    def _link(self, folder: Path) -> None:
        draft = self._path.with_name(f".link-{folder.parent.name}")
        self._link_to(folder, draft)
        while not folder.exists():
            # Whoever came later may have made its link before this one replaced it.
            with contextlib.suppress(FileNotFoundError):
                (current,) = self._writers.iterdir()
                self._link_to(current / self._path.name, draft)
                if current.exists():
                    raise self._taken_over

    def _link_to(self, folder: Path, draft: Path) -> None:
        draft.unlink(missing_ok=True)
        draft.symlink_to(folder.relative_to(self._path.parent))
        draft.replace(self._path)

    def _record(self, folder: Path) -> dict[str, Any]:
        try:
            found = json.loads((folder / RECORD).read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _note(self, folder: Path, **facts: object) -> None:
        """Add to the record, all of it or nothing."""
        draft = folder / f".{RECORD}"
        with self._unless_taken():
            draft.write_text(json.dumps({**self._record(folder), **facts}))
            descriptor = os.open(draft, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            draft.replace(folder / RECORD)

    @contextlib.contextmanager
    def _unless_taken(self) -> Iterator[None]:
        """Paths that are gone are those of a former writer."""
        try:
            yield
        except FileNotFoundError as error:
            raise self._taken_over from error

    @property
    def _taken_over(self) -> TakenOver:
        return TakenOver(f"{self._path}: another gang has taken this run over")
