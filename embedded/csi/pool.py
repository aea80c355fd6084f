"""The pool of the volumes: btrfs on a sparse file, which is mounted before the driver starts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from shutil import which

from tensorplane.core.errors import UserError
from tensorplane.embedded.cluster.host import run
from tensorplane.embedded.csi import btrfs, mounts

_GIB = 1 << 30
# Trimmed blocks become holes of the file; access times would change every snapshot. Without flushoncommit, a snapshot
# may have a file's new name without the data that was written before the rename.
_OPTIONS = "loop,noatime,discard=async,flushoncommit"


def can_have_btrfs() -> bool:
    """Whether this machine can create and mount btrfs on a file."""
    return _kernel_knows() and which("mkfs.btrfs") is not None and Path("/dev/loop-control").exists()


def _kernel_knows() -> bool:
    known = Path("/proc/filesystems")
    if "\tbtrfs\n" not in known.read_text() and which("modprobe"):
        subprocess.run(["modprobe", "--quiet", "btrfs"], check=False)  # a module is listed once it is loaded
    return "\tbtrfs\n" in known.read_text()


def make_and_mount(file: Path, folder: Path, gib: int) -> None:
    """Creates the file (sparse, `gib` large) or enlarges it if it is smaller, and mounts it.

    Without btrfs on this machine, it remains a folder of its filesystem, with copies instead of snapshots.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not can_have_btrfs():
        if file.exists():
            raise UserError(f"{file}: holds volumes on btrfs, which this machine cannot mount; install btrfs-progs")
        return
    if not file.exists():
        if any(folder.iterdir()):
            return  # a pool without btrfs must not be hidden below a mount
        _make(file, gib)
    mount = mounts.at(folder)
    if mount and mount.kind != "btrfs":
        raise UserError(f"{folder}: {mount.kind} is mounted there; unmount it")
    larger = file.stat().st_size < gib * _GIB
    if larger:
        os.truncate(file, gib * _GIB)
    if not mount:
        _mount(file, folder)
    elif larger:
        run("losetup", "--set-capacity", mount.source)
    btrfs.grow(folder)
    btrfs.enable_quotas(folder)


def unmount(folder: Path) -> None:
    """Unmounts the pool, with its loop device once it is unused; does nothing if it is not mounted."""
    mount = mounts.at(folder)
    if mount and mount.kind == "btrfs":
        btrfs.sync(folder)
        mounts.detach(folder)


def _make(file: Path, gib: int) -> None:
    # If it is killed, it leaves a draft, which the next run creates again.
    draft = file.with_name(f".{file.name}.draft")
    draft.unlink(missing_ok=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.truncate(descriptor, gib * _GIB)
    os.close(descriptor)
    run("mkfs.btrfs", "--quiet", "--label", "tensorplane", "--metadata", "single", "--", str(draft))
    draft.replace(file)


def _mount(file: Path, folder: Path) -> None:
    # A loop device created by `mount` is removed with the last mount, even if its mount namespace is killed.
    run("mount", "--types", "btrfs", "--options", _OPTIONS, "--", str(file), str(folder))
