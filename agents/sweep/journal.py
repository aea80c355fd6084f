"""The file on the volume in which Optuna keeps a study: one line for each change, appended and flushed.

One controller writes it, the newest. A lock of the file would be the former one's for as long as its node is cut off.
So a new controller renames the folder of the former one, whose next change then finds no file, and goes on with a copy:
no controller reads what the former one still writes to the file that it has open.

    sweeps/.digits-1a2b.journal/<writer>/digits-1a2b.journal
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

_ATTEMPTS = 100
_DRAFT = ".draft-"


class TakenOver(Exception):
    """Another controller has taken the sweep over."""


class Journal:
    """The file of the newest controller."""

    def __init__(self, file: Path) -> None:
        """Takes it over. Raises TakenOver if a later controller does the same. `file`: where earlier versions had it,
        beside the folder of the writers.
        """
        self._former, self._writers = file, file.with_name(f".{file.name}")
        file.parent.mkdir(parents=True, exist_ok=True)
        self.file = self._claimed() / file.name
        """Where this controller writes it."""
        with self.unless_taken():
            self._copy()
            self.backend = _Backend(self)

    @cached_property
    def storage(self) -> JournalStorage:
        """What Optuna keeps in it."""
        return JournalStorage(self.backend)

    def check(self) -> None:
        """Raises TakenOver if another controller has taken the sweep over."""
        if not self.file.exists():
            raise self._taken_over

    @contextlib.contextmanager
    def unless_taken(self) -> Iterator[None]:
        """Reports paths that no longer exist as TakenOver."""
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ESTALE):
                raise
            raise self._taken_over from error

    def _claimed(self) -> Path:
        """Renames the folder of the former writer. Of two callers, the later one owns it."""
        own = self._writers / uuid.uuid4().hex
        for _ in range(_ATTEMPTS):
            if not self._writers.exists():
                self._begin()
            # A listing may have the name of a folder that is being renamed.
            for former in list(self._writers.iterdir()):
                with contextlib.suppress(FileNotFoundError):
                    former.rename(own)
                    return own
        raise self._taken_over

    def _begin(self) -> None:
        """Creates the folder of the writers with one of them, at once: only one of two callers does."""
        draft = self._writers.with_name(f"{_DRAFT}{uuid.uuid4().hex}")
        (draft / "first").mkdir(parents=True)
        try:
            draft.rename(self._writers)
        except OSError:
            shutil.rmtree(draft)
            if not self._writers.exists():
                raise

    def _copy(self) -> None:
        """Continues with a file that no former writer has open."""
        if not self.file.exists():
            with contextlib.suppress(FileNotFoundError):
                # Of a version whose controllers locked it. One that still lives begins a file that nobody reads.
                self._former.rename(self.file)
                self._former.with_suffix(".lock").unlink(missing_ok=True)
        written = self.file.read_bytes() if self.file.exists() else b""
        draft = self.file.with_name(f"{_DRAFT}{uuid.uuid4().hex}")
        with draft.open("wb") as copy:
            copy.write(_whole_lines(written))
            copy.flush()
            os.fsync(copy.fileno())
        draft.replace(self.file)
        for left in self.file.parent.glob(f"{_DRAFT}*"):
            left.unlink(missing_ok=True)

    @property
    def _taken_over(self) -> TakenOver:
        return TakenOver(f"{self._former}: another controller has taken this sweep over")


class _Backend(JournalFileBackend):
    """Optuna's file, as long as it is this controller's."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(str(journal.file), lock_obj=_Unlocked(str(journal.file)))
        self._journal = journal

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:  # type: ignore[override]
        with self._journal.unless_taken():
            yield from super().read_logs(log_number_from)

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        with self._journal.unless_taken():
            try:
                super().append_logs(logs)
            except OSError:
                # A line that a full disk has cut off would be the beginning of the next one.
                with contextlib.suppress(OSError):
                    os.truncate(self._journal.file, len(_whole_lines(self._journal.file.read_bytes())))
                raise
        # It may have been written to the file that another controller has copied before.
        self._journal.check()


class _Unlocked(JournalFileOpenLock):
    """No lock: the file has one writer."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


def _whole_lines(written: bytes) -> bytes:
    """Without a last line that a lost node has cut off; Optuna would append to it and never read the file again."""
    return written[: written.rfind(b"\n") + 1]
