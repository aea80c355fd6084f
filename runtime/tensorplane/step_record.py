"""Records which step training has completed, for the launcher of the command."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "TENSORPLANE_STEPS"
"""Variable with the file of the record, set by the launcher."""
CONNECTING = "connecting"
EXPECTED, DONE, TRAINED, SAME_LOSS = "expected", "done", "trained", "same loss"
"""Beginnings of the record: before the first step of the process; with the last completed one, while it trains and
after; with the one at which the process ends because its loss stays the same."""
_RECORD_BYTES = 32


@contextlib.contextmanager
def connecting() -> Iterator[None]:
    """Records that in this block the process waits for other workers: TensorFlow holds the interpreter meanwhile, so
    the process cannot answer a signal, and has nothing to save.
    """
    _note(CONNECTING)
    try:
        yield
    finally:
        _note("")


def read(path: Path) -> str:
    """The record; empty without one."""
    return path.read_text().strip() if path.exists() else ""


def number(record: str) -> int | None:
    """The step of a record; None if it has none."""
    last = record.rpartition(" ")[2]
    return int(last) if last.isdecimal() else None


def expected() -> None:
    """Records that this process will report its first step."""
    _note(EXPECTED)


def done(step: int | None = None) -> None:
    """Records a completed step; from the first on, a restart may help after a failure.

    `step` is its number in the whole run: a failure that comes back at the same one is a poison step (`outcome.py`).
    """
    _note(DONE if step is None else f"{DONE} {step}")


def goes_on() -> None:
    """Records progress within a step, such as a batch of a validation (`progress_deadline.py`)."""
    if path := os.environ.get(VARIABLE):
        os.utime(_file(path))


def ended() -> None:
    """Records that training has ended: what the program does then, such as a last evaluation, completes no step."""
    if (path := os.environ.get(VARIABLE)) and (record := read(Path(path))).startswith(DONE):
        _note(record.replace(DONE, TRAINED, 1))


def same_loss(step: int) -> None:
    """Records that the process ends because its loss stays the same (`progress_deadline.py`)."""
    _note(f"{SAME_LOSS} {step}")


def _note(state: str) -> None:
    """Overwrites the record in one write: it comes at each step, and a kill must not leave half of one."""
    if path := os.environ.get(VARIABLE):
        os.pwrite(_file(path), state.ljust(_RECORD_BYTES).encode(), 0)


@functools.cache
def _file(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
