"""Files of Keras' own callbacks: the chief writes them, as workers would otherwise write the same files at once.

On the other workers the callbacks run too, since what they save may be computed by all workers, but they write to a
temporary folder, which is deleted when the program ends. Those of CSVLogger go on when training resumes.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

_PATHS: dict[type, str] = {
    keras.callbacks.ModelCheckpoint: "filepath",
    keras.callbacks.TensorBoard: "log_dir",
    keras.callbacks.CSVLogger: "filename",
}
"""The attribute with the path that a callback writes to."""


def leave_to_the_chief(callbacks: Sequence[Any]) -> None:
    """Makes these callbacks of a worker that is not the chief write elsewhere. Once done, it does nothing."""
    for callback in callbacks:
        for kind, attribute in _PATHS.items():
            if isinstance(callback, kind):
                _redirect(callback, attribute)
        if isinstance(callback, keras.callbacks.BackupAndRestore):
            # Every worker restores from the chief's folder.
            callback._save_model = _nothing
            callback.delete_checkpoint = False


def _redirect(callback: Any, attribute: str) -> None:
    path = Path(getattr(callback, attribute))
    if _scratch() not in path.parents:
        # Its own folder: two callbacks may have the same file name. The end of the name decides the format.
        setattr(callback, attribute, str(Path(tempfile.mkdtemp(dir=_scratch())) / path.name))


def _nothing() -> None:
    """In place of a save."""


@functools.cache
def _scratch() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tensorplane-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class CsvFiles:
    """The files that callbacks of a `fit` would empty as it begins: its own rows are in them."""

    def __init__(self, callbacks: Sequence[Any]) -> None:
        """Lets the callbacks open their files to append."""
        self._loggers = [one for one in callbacks if isinstance(one, keras.callbacks.CSVLogger) and not one.append]
        for one in self._loggers:
            one.append = True

    def opened(self) -> None:
        """Lets another `fit` with these callbacks empty the files again."""
        for one in self._loggers:
            one.append = False

    def end_before(self, epoch: int) -> None:
        """Takes the rows from `epoch` on out of the files: they will be written again."""
        for one in self._loggers:
            _end_before(Path(one.filename), one.sep, epoch)


def _end_before(path: Path, separator: str, epoch: int) -> None:
    if not path.is_file():
        return
    header, *rows = path.read_bytes().splitlines(keepends=True) or [b""]
    kept = [row for row in rows if _epoch(row, separator) < epoch]
    # In place, as the callback has opened it to append.
    os.truncate(path, len(header) + sum(map(len, kept)) if kept == rows[: len(kept)] else path.stat().st_size)


def _epoch(row: bytes, separator: str) -> int:
    number = row.split(separator.encode())[0].strip()
    return int(number) if number.isdigit() else -1
