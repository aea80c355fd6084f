"""Locks of open files and folders, which the kernel frees when their process ends, however it ends."""

from __future__ import annotations

from typing import IO, Any


def take(file: int | IO[Any], *, wait: bool) -> bool:
    """Locks a file for this process; False if another one has it and `wait` is False. Closing the file frees it."""
    # Where members of teams work, there may be none: it is Unix' own.
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True
