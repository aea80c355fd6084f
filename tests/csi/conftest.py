"""A pool in a mount namespace of its own, and drivers on it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from embedded.csi import pool
from embedded.paths import PROJECT
from tests.csi.driver import GUARDED, Driver, empty

POOL_GIB = 24  # sparse; csi-sanity makes volumes of up to 10 GiB


@pytest.fixture(scope="session")
def btrfs_driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A driver on btrfs."""
    if os.geteuid() != 0 or not pool.can_have_btrfs():
        pytest.skip("needs root, btrfs in the kernel, loop devices and mkfs.btrfs (package btrfs-progs)")
    folder = tmp_path_factory.mktemp("btrfs")
    private = ("unshare", "--mount", "--propagation=private")
    program = (sys.executable, "-m", "tests.csi.pool_holder", str(folder), str(POOL_GIB))
    with subprocess.Popen(
        [*private, *GUARDED, *program], cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout and holder.stdout.readline() == "ready\n"
        driver = Driver(folder, holder.pid)
        yield driver
        driver.stop()
        assert holder.stdin
        holder.stdin.close()


@pytest.fixture(scope="session")
def copying_driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A driver on an ordinary folder."""
    folder = tmp_path_factory.mktemp("copies")
    (folder / "pool").mkdir()
    driver = Driver(folder, os.getpid())
    yield driver
    driver.stop()


@pytest.fixture
def driver(btrfs_driver: Driver) -> Iterator[Driver]:
    """The driver on btrfs, without a volume or a snapshot."""
    yield btrfs_driver
    empty(btrfs_driver)
