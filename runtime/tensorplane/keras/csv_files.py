"""Files of Keras' CSVLogger, which go on when training resumes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras


class CsvFiles:
    """The files that callbacks of a `fit` would empty as it begins: its own rows are in them."""

    def __init__(self, callbacks: Sequence[Any]) -> None:
        """Let the callbacks open their files to append."""
        self._loggers = [one for one in callbacks if isinstance(one, keras.callbacks.CSVLogger) and not one.append]
        for one in self._loggers:
            one.append = True

    def opened(self) -> None:
        """Let another `fit` with these callbacks empty the files again."""
        for one in self._loggers:
            one.append = False

    def end_before(self, epoch: int) -> None:
        """Take the rows from `epoch` on out of the files: they will be written again."""
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
