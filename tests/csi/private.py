"""Processes with a mount namespace of their own: pools and disks that they mount are gone when they end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tensorplane.core.paths import PROJECT
from tensorplane.embedded.csi import capacity, pool
from tests.csi.driver import GUARDED

PRIVATE = ("unshare", "--mount", "--propagation=private", *GUARDED)


def needs_btrfs() -> None:
    """Skips the test where nobody can mount a pool."""
    if os.geteuid() != 0 or not pool.can_have_btrfs():
        pytest.skip("needs root, btrfs in the kernel, loop devices and mkfs.btrfs (package btrfs-progs)")


def privately(function: Callable[..., None], folder: Path, *arguments: str) -> str:
    """Runs a module's function with a folder in such a process; what it printed."""
    needs_btrfs()
    # pytest's name of the module is another.
    module = ".".join(Path(function.__code__.co_filename).relative_to(PROJECT).with_suffix("").parts)
    told = ", ".join([f"Path({str(folder)!r})", *map(repr, arguments)])
    program = f"from pathlib import Path; import {module} as tests; tests.{function.__name__}({told})"
    done = subprocess.run(
        [*PRIVATE, sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def mount_memory(folder: Path, mib: int = 4096) -> None:
    """A disk in memory: it waits for nobody's writes, and what other disks have to write takes none of its room."""
    vars(capacity).update(RESERVE=0, _unwritten=lambda: 0)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}M", "tmpfs", folder], check=True)
