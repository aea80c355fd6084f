"""Copies of volumes in a second pool: what is sent, what is kept, and the way there and back."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.csi import pool
from embedded.csi.mirror import Mirror
from embedded.csi.records import Source
from embedded.csi.sizes import Asked
from embedded.csi.storage import Btrfs
from embedded.csi.store import Store
from embedded.paths import PROJECT
from tests.csi.driver import GUARDED, Driver

ANY = Asked()
MIB = 1 << 20


def there_and_back(folder: Path) -> None:
    """A volume is copied twice, lost, taken over by the second pool, changed there and brought back."""
    store, target = Store(folder / "pool"), Store(folder / "mirror")
    there, back = Mirror(store, target), Mirror(target, store)
    volume = store.create_volume("data", Asked(64 * MIB), None)
    (store.path(volume) / "old").write_bytes(os.urandom(20 * MIB))
    first = there.copy(volume)
    (store.path(volume) / "new").write_text("1")
    (store.path(volume) / "link").symlink_to("new")
    # What a copy that was killed leaves.
    store.storage.copy(store.path(volume), store.snapshots / ".mirror-half", read_only=True)
    target.storage.create(target.snapshots / ".mirror-half")
    os.sync()
    free = target.free
    second = there.copy(volume)
    os.sync()
    if isinstance(target.storage, Btrfs):
        assert free - target.free < 5 * MIB, "only what changed is sent"
    assert there.last("data") == second
    assert [one.id for one in target.all_snapshots()] == [first.id, second.id]
    third = there.copy(volume)
    assert [one.id for one in target.all_snapshots()] == [second.id, third.id], "the oldest goes"
    assert [path.name for path in store.snapshots.iterdir()] == [f".mirror-{third.id}"]
    assert store.all_snapshots() == []

    store.delete_volume("data")
    taken_over = target.create_volume("data", ANY, Source("snapshot", third.id))
    assert taken_over.size == 64 * MIB
    assert (target.path(taken_over) / "link").read_text() == "1"
    assert (target.path(taken_over) / "old").stat().st_size == 20 * MIB
    (target.path(taken_over) / "new").write_text("2")
    brought = back.copy(taken_over)
    again = store.create_volume("data", ANY, Source("snapshot", brought.id))
    assert (store.path(again) / "link").read_text() == "2"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    for name in ("pool", "mirror"):
        (tmp_path / name).mkdir()
    yield tmp_path


def test_there_and_back_between_ordinary_folders(folder: Path) -> None:
    there_and_back(folder)


def test_there_and_back_between_pools_on_btrfs(folder: Path) -> None:
    if os.geteuid() != 0 or not pool.can_have_btrfs():
        pytest.skip("needs root, btrfs in the kernel, loop devices and mkfs.btrfs (package btrfs-progs)")
    program = f"""
from pathlib import Path
from embedded.csi import pool
from tests.csi.test_mirror import there_and_back
folder = Path({str(folder)!r})
for name in ("pool", "mirror"):
    pool.make_and_mount(folder / f"{{name}}.btrfs", folder / name, 2)
there_and_back(folder)
"""
    private = ["unshare", "--mount", "--propagation=private", *GUARDED, sys.executable, "-c", program]
    done = subprocess.run(private, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_driver_keeps_the_copies_as_young_as_asked_for(folder: Path) -> None:
    driver = Driver(folder, os.getpid(), folder / "mirror")
    try:
        driver.client.create("alone")
        volume = driver.client.create("data", parameters={"mirrorSeconds": "1"}).volume_id
        (driver.volume(volume) / "file").write_text("kept")
        end = time.monotonic() + 20
        while not list((folder / "mirror/snapshots").glob("data-*/file")):
            assert time.monotonic() < end, driver.log
            time.sleep(0.1)
        assert not list((folder / "mirror/snapshots").glob("alone-*"))
    finally:
        driver.stop()
    assert "Traceback" not in driver.log
