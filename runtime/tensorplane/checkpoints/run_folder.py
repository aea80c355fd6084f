"""The folder in which a run keeps its checkpoints: one writer at a time, and a note when the run has finished.

A run outlives the pods that compute it. When its gang restarts, a pod of the former gang may still be alive: on a node
that was paused, or cut off from the API server. A lease does not help there, because it runs out while its holder
sleeps. So a new writer renames the folder, and the paths of the former writer no longer exist. That writer gets an
error at its next checkpoint, whenever it wakes up.

    checkpoints/digits-1a2b3c4d                              the run: a link to its folder, for readers
    checkpoints/.digits-1a2b3c4d/<writer>/digits-1a2b3c4d    its folder, for its writer

It only requires the standard library, because the launcher uses it before any command.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tensorplane.checkpoints import disk
from tensorplane.errors import TensorplaneError

RUN = "TENSORPLANE_RUN"
"""Variable with the folder of the run's checkpoints, in pods of a job with `checkpoints`."""
RECORD = "run.json"
"""File in a run's folder: the version of the library that ran it last, whether it has finished, and what it has done
then."""
_ATTEMPTS = 100


class TakenOver(TensorplaneError):
    """Another gang has taken the run over."""


def is_ours(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether no other gang has taken over the run that this pod's launcher has taken over, if it has one."""
    run, folder = environment.get(RUN), environment.get("CHECKPOINT_DIR")
    return not run or not folder or folder == run or Path(folder).exists()


class RunFolder:
    """The folder of one run, by its path in all pods."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writers = path.with_name(f".{path.name}")

    @property
    def finished(self) -> bool:
        """Whether the run has finished."""
        return bool(self._record(self._path).get("finished"))

    @property
    def done_after(self) -> str:
        """What the finished run has done after its success (`OnSuccess.identity`); empty before."""
        return str(self._record(self._path).get("doneAfter") or "")

    @property
    def restarts(self) -> int:
        """How often the run was started again, after failures and evictions."""
        return max(_starts(self._record(self._path)) - 1, 0)

    def take_over(self, version: str) -> Path:
        """Makes the caller the only writer, and returns where it writes. `version` is the library's, for the record.

        Raises TakenOver if a later gang does the same. If it is killed, the next call completes it.
        """
        folder = self._claimed() / self._path.name
        with self._unless_taken():
            if self._path.is_dir() and not self._path.is_symlink():
                # Written by a version that did not separate writers.
                self._path.rename(folder)
            folder.mkdir(exist_ok=True)
        self._link(folder)
        self._note(folder, version=version, starts=_starts(self._record(folder)) + 1)
        return folder

    def began(self, folder: Path) -> float:
        """When the run began for the first time, in seconds since 1970; now, if that is not recorded yet.

        For its writer. Raises TakenOver as `finish`.
        """
        found = self._record(folder).get("began")
        if not isinstance(found, (int, float)):
            found = time.time()
            self._note(folder, began=found)
        return float(found)

    def finish(self, folder: Path) -> None:
        """Records that the run has finished, as its writer. Raises TakenOver if another gang writes now."""
        self._note(folder, finished=True, doneAfter="")

    def finish_after(self, folder: Path, identity: str) -> None:
        """Records what the finished run has done after its success. Raises TakenOver as `finish`."""
        self._note(folder, doneAfter=identity)

    def _claimed(self) -> Path:
        """Renames the folder of the former writer. Of two callers, the later one owns it."""
        own = self._writers / uuid.uuid4().hex
        for _ in range(_ATTEMPTS):
            if not self._writers.exists():
                self._begin()
            with contextlib.suppress(FileNotFoundError):
                self._current().rename(own)
                return own
        raise TakenOver(f"{self._path}: other gangs keep taking this run over")

    def _current(self) -> Path:
        """The folder of the newest writer. Raises FileNotFoundError while it is being renamed.

        A listing may show its former name too; only the newest writer's folder has the run's record.
        """
        folders = list(self._writers.iterdir())
        if not folders:
            raise FileNotFoundError(self._writers)
        return max(folders, key=lambda folder: _starts(self._record(folder / self._path.name)))

    def _begin(self) -> None:
        """Creates `_writers` with one folder, atomically: only one of two callers creates it."""
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
            # A later caller may have created its link before this one replaced it.
            with contextlib.suppress(FileNotFoundError):
                current = self._current()
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
        """Updates the record atomically."""
        draft = folder / f".{RECORD}"
        with self._unless_taken():
            draft.write_text(json.dumps({**self._record(folder), **facts}))
            disk.flush(draft)
            draft.replace(folder / RECORD)

    @contextlib.contextmanager
    def _unless_taken(self) -> Iterator[None]:
        """Reports paths that no longer exist as TakenOver."""
        try:
            yield
        except FileNotFoundError as error:
            raise self._taken_over from error

    @property
    def _taken_over(self) -> TakenOver:
        return TakenOver(f"{self._path}: another gang has taken this run over")


def _starts(record: dict[str, Any]) -> int:
    """Of a run that an earlier version of the library began, only the later ones."""
    found = record.get("starts", 0)
    return found if isinstance(found, int) else 0
