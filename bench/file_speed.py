"""Writes a file or reads it, past the page cache's copy of it, and prints bytes per second: `write|read PATH MIB`.

The same file runs in a pod and on the node, so it imports nothing of this project.
"""

import os
import sys
import time

_MIB = 1 << 20


def write(path: str, mib: int) -> float:
    """Seconds to write a new file and have it on disk."""
    block = os.urandom(_MIB)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    began = time.perf_counter()
    for _ in range(mib):
        os.write(file, block)
    os.fsync(file)
    return time.perf_counter() - began


def read(path: str, mib: int) -> float:
    """Seconds to read a file."""
    block = bytearray(_MIB)
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    began = time.perf_counter()
    for _ in range(mib):
        os.readv(file, [block])
    return time.perf_counter() - began


if __name__ == "__main__":
    _, what, path, mib = sys.argv
    print(int(mib) * _MIB / {"write": write, "read": read}[what](path, int(mib)))
