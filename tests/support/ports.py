"""Ports for servers of tests, which nobody else takes before the server listens."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import socket
from collections.abc import Iterator

from tensorplane.core.paths import cache

_RANGE = range(20000, 29000)
"""Below those that the kernel gives to outgoing connections, and below Kubernetes' node ports."""
_held: list[int] = []
"""Locks of this process: groups of tests run side by side, and a lock ends with the process that holds it."""


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nothing listens on, and that no other test gets while this process runs."""
    found: list[int] = []
    for port in random.sample(_RANGE, len(_RANGE)):
        if len(found) == count:
            break
        if _is_free(port) and _lock(port):
            found.append(port)
    return found


@contextlib.contextmanager
def refusing() -> Iterator[int]:
    """A port that refuses connections, and that nothing else can listen on meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def _lock(port: int) -> bool:
    folder = cache() / "test-ports"
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / str(port), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _held.append(descriptor)
        return True
    os.close(descriptor)
    return False
