"""The files behind the CSI driver's pools: their sizes, and whether the kernel still uses them."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from embedded.cluster.places import Places
from embedded.csi import pool

_GIB = 1 << 30
_SHARE = 0.9
"""Share of the disk's free space: the file is sparse, and images and logs grow on the same disk."""


def mount(at: Places) -> None:
    """Mounts them for the driver. Called in the instance's mount namespace, with which the mounts end."""
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
        return ""  # it was just released


def wait_until_released(at: Places, timeout: float = 30) -> None:
    """Waits until the kernel has written the last changes of ended processes. A second mount would corrupt them."""
    end = time.monotonic() + timeout
    while loop_devices(at) and time.monotonic() < end:
        time.sleep(0.05)
