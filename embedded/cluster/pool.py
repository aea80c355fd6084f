"""The files behind the CSI driver's volumes and their mirrors: how large each is made, whether the kernel holds it."""

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
    """Mounts them where the driver looks; for a process in the instance's mount namespace, with which mounts end."""
    for file, folder in ((at.pool_file, at.pool), (at.mirror_file, at.mirror)):
        pool.make_and_mount(file, folder, _gib(file))


def _gib(file: Path) -> int:
    if file.exists():
        return file.stat().st_size // _GIB
    return max(1, int(shutil.disk_usage(file.parent).free * _SHARE / _GIB))


def loop_devices(at: Places, blocks: Path = Path("/sys/block")) -> list[str]:
    """Loop devices that have one of the files open."""
    # The kernel knows no symbolic links.
    ours = {str(file.resolve()) for file in (at.pool_file, at.mirror_file)}
    return sorted(path.parts[-3] for path in blocks.glob("loop*/loop/backing_file") if _backing(path) in ours)


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
