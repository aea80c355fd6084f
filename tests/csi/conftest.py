"""A pool in a mount namespace of its own, and drivers on it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorplane.core.paths import PROJECT
from tensorplane.embedded.csi import capacity
from tests.csi.driver import Driver, empty
from tests.csi.private import PRIVATE, needs_btrfs

POOL_GIB = 24  # sparse; csi-sanity makes volumes of up to 10 GiB


@pytest.fixture(scope="session")
def btrfs_driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A driver on btrfs."""
    needs_btrfs()
    folder = tmp_path_factory.mktemp("btrfs")
    program = (sys.executable, "-m", "tests.csi.pool_holder", str(folder), str(POOL_GIB))
    with subprocess.Popen(
        [*PRIVATE, *program], cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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
    driver = Driver(folder)
    yield driver
    driver.stop()


@pytest.fixture
def in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for pools of this process. Where the machine has its usual place for that, syncs wait for no disk."""
    monkeypatch.setattr(capacity, "check", lambda *_: None)  # what else is there does not matter
    memory = Path("/dev/shm")
    parent = memory if os.access(memory, os.W_OK) else tmp_path
    with tempfile.TemporaryDirectory(prefix="tensorplane-", dir=parent) as folder:
        yield Path(folder)


@pytest.fixture
def driver(btrfs_driver: Driver) -> Iterator[Driver]:
    """The driver on btrfs, without a volume or a snapshot."""
    yield btrfs_driver
    empty(btrfs_driver)
