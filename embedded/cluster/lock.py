"""Lets one process at a time start, stop or remove an instance; the kernel frees the lock of one that was killed."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tensorplane.core import file_lock
from tensorplane.core.errors import UserError
from tensorplane.core.paths import cache
from tensorplane.embedded.instance import Instance

_OF_ROOT = Path("/run/tensorplane/locks")


@contextlib.contextmanager
def only_one(instance: Instance, timeout: float = 60, use: str = "starting or stopping") -> Iterator[None]:
    """Locks a file that only this user can open, so that no other user can hold the lock. The file stays.

    Each `use` is a separate lock: tests hold theirs while they start and stop the instance many times.
    """
    with _opened(f"{instance.name} {use}".replace(" ", "-")) as held:
        end = time.monotonic() + timeout
        while not file_lock.take(held, wait=False):
            if time.monotonic() > end:
                raise UserError(_busy(instance, held, use))
            time.sleep(0.1)
        held.truncate(0)
        held.write(str(os.getpid()))
        held.flush()
        yield


def _opened(name: str) -> IO[str]:
    # Only root can start a cluster; with one lock per machine, any user could hold root's.
    folder = _OF_ROOT if os.geteuid() == 0 else cache() / "locks"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    return os.fdopen(descriptor, "a+")


def _busy(instance: Instance, held: IO[str], use: str) -> str:
    held.seek(0)
    holder = held.read() or "(just started)"
    if holder == str(os.getpid()):
        holder += " (this one)"
    return f"cluster {instance.name}: process {holder} is {use} it; wait until it is done, or end that process"
