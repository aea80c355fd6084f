"""The file on the volume in which Optuna keeps a study: one line for each change, appended and flushed."""

from __future__ import annotations

import fcntl
from pathlib import Path

from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock


class Journal:
    """The file, open to this process alone: a second controller waits until the first has ended, however it ends."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._held = _Held(file)
        _mend(file)
        self.storage = JournalStorage(JournalFileBackend(str(file), lock_obj=self._held))

    def close(self) -> None:
        """Let another process open the file."""
        self._held.file.close()


class _Held(JournalFileOpenLock):
    """The lock of the whole process, as long as its storage is in use; single changes need no other."""

    def __init__(self, journal: Path) -> None:
        super().__init__(str(journal))
        # Unlike Optuna's locks, this one is released by the kernel when the process is killed.
        self.file = journal.with_suffix(".lock").open("ab")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


def _mend(file: Path) -> None:
    """Remove a last line that a lost node left incomplete; Optuna would append to it and never read the file again."""
    with file.open("a+b") as journal:
        journal.seek(0)
        journal.truncate(journal.read().rfind(b"\n") + 1)
