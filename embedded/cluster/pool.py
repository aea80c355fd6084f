"""The file behind the CSI driver's volumes: how large it is made, and whether the kernel still holds it."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from embedded.cluster.places import Places
from embedded.csi import pool

_GIB = 1 << 30
_SHARE = 0.9
"""Of the disk's free space: the file is sparse, and images and logs grow beside it."""


def mount(at: Places) -> None:
    """Mounts it where the driver looks; for a process in the instance's mount namespace, with which the mount ends."""
    pool.make_and_mount(at.pool_file, at.pool, _gib(at))


def _gib(at: Places) -> int:
    if at.pool_file.exists():
        return at.pool_file.stat().st_size // _GIB
    return max(1, int(shutil.disk_usage(at.instance.home).free * _SHARE / _GIB))


def loop_devices(at: Places, blocks: Path = Path("/sys/block")) -> list[str]:
    """Loop devices that have the file open."""
    ours = str(at.pool_file.resolve())  # the kernel knows no symbolic links
    return sorted(path.parts[-3] for path in blocks.glob("loop*/loop/backing_file") if _backing(path) == ours)


def _backing(path: Path) -> str:
    try:
        return path.read_text().rstrip("\n")
    except OSError:
        return ""  # it was just let go


def wait_until_released(at: Places, timeout: float = 30) -> None:
    """The kernel writes the last changes after the last process is gone. A second mount beside it would break them."""
    end = time.monotonic() + timeout
    while loop_devices(at) and time.monotonic() < end:
        time.sleep(0.05)
