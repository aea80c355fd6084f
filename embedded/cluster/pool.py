"""The files behind the CSI driver's pools: their sizes, and whether the kernel still uses them."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from tensorplane.core.errors import UserError
from tensorplane.embedded.cluster.host import run
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.csi import mounts, pool

_GIB = 1 << 30
_SHARE = 0.9
"""Share of the disk's free space: the file is sparse, and images and logs grow on the same disk."""


def mount(paths: NodePaths) -> None:
    """Mounts them for the driver. Called in the instance's mount namespace, with which the mounts end."""
    for file, folder in ((paths.pool_file, paths.pool), (paths.mirror_file, paths.mirror)):
        pool.make_and_mount(file, folder, _gib(file))


def _gib(file: Path) -> int:
    if file.exists():
        return file.stat().st_size // _GIB
    return max(1, int(shutil.disk_usage(file.parent).free * _SHARE / _GIB))


def loop_devices(paths: NodePaths, blocks: Path = Path("/sys/block")) -> list[str]:
    """Loop devices that have one of the files open."""
    return sorted(device for file in (paths.pool_file, paths.mirror_file) for device in _devices(file, blocks))


def _devices(file: Path, blocks: Path = Path("/sys/block")) -> list[str]:
    # The kernel knows no symbolic links.
    ours = str(file.resolve())
    return [path.parts[-3] for path in blocks.glob("loop*/loop/backing_file") if _backing(path) == ours]


def _backing(path: Path) -> str:
    try:
        return path.read_text().rstrip("\n")
    except OSError:
        return ""  # it was just released


def mount_volume(paths: NodePaths, volume: str, folder: Path, *, read_only: bool) -> None:
    """Mounts one volume on this machine itself, outside the instance's mount namespace. `volume`: its ID."""
    devices = _devices(paths.pool_file)
    if not devices:
        # Without btrfs on this machine, the pool is an ordinary folder.
        raise UserError(
            f"the cluster's volumes have no file system of their own here; this one is {paths.pool}/volumes/{volume}"
        )
    options = f"subvol=/volumes/{volume},nosuid,nodev,{'ro' if read_only else 'rw'}"
    run("mount", "-t", "btrfs", "-o", options, "--", f"/dev/{devices[0]}", str(folder))


def unmount_volumes(paths: NodePaths) -> None:
    """Unmounts the volumes that are mounted on this machine itself. A UserError if a program uses one."""
    ours = {f"/dev/{device}" for device in loop_devices(paths)}
    for mount in reversed(mounts.every()):
        if mount.source in ours:
            try:
                run("umount", "--", str(mount.folder))
            except UserError as error:
                remedy = f"end what uses it, which `fuser -vm {mount.folder}` lists"
                raise UserError(f"{mount.folder}: a volume is mounted there ({error.lines[0]}); {remedy}") from None


def wait_until_released(paths: NodePaths, timeout: float = 30) -> None:
    """Waits until the kernel has written the last changes of ended processes. A second mount would corrupt them."""
    end = time.monotonic() + timeout
    while loop_devices(paths) and time.monotonic() < end:
        time.sleep(0.05)
