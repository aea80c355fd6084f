"""Lets one process at a time start, stop or remove an instance; the kernel frees the lock of one that was killed."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator

from embedded.fault import Fault
from embedded.paths import Instance


@contextlib.contextmanager
def only_one(instance: Instance, timeout: float = 60, use: str = "starting or stopping") -> Iterator[None]:
    """Holds a socket of the abstract namespace: no file that could be left behind, no race about removing one.

    Each `use` is a lock of its own: tests hold theirs while they start and stop the instance many times.
    """
    address = f"\0{instance.namespace} {use}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as held:
        end = time.monotonic() + timeout
        while True:
            try:
                held.bind(address)
                break
            except OSError:
                if time.monotonic() > end:
                    raise Fault(_busy(instance, address, use)) from None
            time.sleep(0.1)
        held.listen()
        yield


def _busy(instance: Instance, address: str, use: str) -> str:
    return (
        f"cluster {instance.name}: process {_holder(address)} is {use} it: wait until it is done, or end that process"
    )


def _holder(address: str) -> int | str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        try:
            caller.connect(address)
        except OSError:
            return "(just ended)"
        credentials = caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid: int = struct.unpack("3i", credentials)[0]
        return pid if pid != os.getpid() else f"{pid} (this one)"
