"""Files of Keras' CSVLogger, which go on when training resumes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras


def keep_rows(callbacks: Sequence[Any]) -> list[Any]:
    """Let files be appended to that training would empty as it begins. Returns the callbacks that write them."""
    found = [one for one in callbacks if isinstance(one, keras.callbacks.CSVLogger) and not one.append]
    for one in found:
        one.append = True
    return found


def end_before(callback: Any, epoch: int) -> None:
    """Take the rows from `epoch` on out of the file of a callback: they will be written again."""
    path = Path(callback.filename)
    if not path.is_file():
        return
    header, *rows = path.read_bytes().splitlines(keepends=True) or [b""]
    kept = [row for row in rows if _epoch(row, callback.sep) < epoch]
    # In place, as the callback has opened it to append.
    os.truncate(path, len(header) + sum(map(len, kept)) if kept == rows[: len(kept)] else path.stat().st_size)


def _epoch(row: bytes, separator: str) -> int:
    number = row.split(separator.encode())[0].strip()
    return int(number) if number.isdigit() else -1
