"""Copies of volumes in a second pool: what is sent, what is kept, and the way there and back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from embedded.csi import pool
from embedded.csi.mirror import Mirror
from embedded.csi.records import Source
from embedded.csi.sizes import Asked
from embedded.csi.storage import Btrfs
from embedded.csi.store import Kept, Store
from embedded.paths import PROJECT
from tests.csi.driver import GUARDED, Driver
from tests.support.waiting import eventually

ANY = Asked()
MIB = 1 << 20


def there_and_back(folder: Path) -> None:
    """A volume is copied twice, lost, taken over by the second pool, changed there and brought back."""
    store, target = Store(folder / "pool"), Store(folder / "mirror")
    there, back = Mirror(store, target), Mirror(target, store)
    volume = store.create_volume("data", Asked(64 * MIB), None, Kept(60))
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


def test_a_volume_begins_as_the_newest_copy_of_a_claim_whose_volume_is_lost(folder: Path) -> None:
    told = {"csi.storage.k8s.io/pvc/namespace": "lab", "csi.storage.k8s.io/pvc/name": "models"}
    taking_over = {**told, "csi.storage.k8s.io/pvc/name": "again", "mirrorOf": "models"}
    driver = Driver(folder, os.getpid(), folder / "mirror")
    try:
        with pytest.raises(grpc.RpcError, match="claim lab/models: the second pool has no copy"):
            driver.client.create("again", parameters=taking_over)
        first = driver.client.create("first", parameters=told).volume_id
        (driver.volume(first) / "file").write_text("kept")
        # The mirror is turned on afterwards, as the resizer does it, and turned off again.
        driver.client.ControllerModifyVolume(volume_id=first, mutable_parameters={"mirrorSeconds": "1", **told})
        until(lambda: copies(folder, "first", "file"), driver)
        driver.client.ControllerModifyVolume(volume_id=first, mutable_parameters={"mirrorSeconds": "0"})
        driver.kill()
        shutil.rmtree(folder / "pool")
        (folder / "pool").mkdir()
        driver.start()
        again = driver.client.create("again", parameters=taking_over)
        assert driver.client.create("again", parameters=taking_over) == again
        assert again.capacity_bytes == 64 * MIB
        assert (driver.volume(again.volume_id) / "file").read_text() == "kept"
        with pytest.raises(grpc.RpcError, match="has 67108864"):
            driver.client.create("smaller", 32, parameters=taking_over)
        assert not list(folder.glob("*/snapshots/.brought-*"))
    finally:
        driver.stop()


@pytest.mark.parametrize("end", ["delete", "turn off"])
def test_what_the_next_copy_is_compared_with_goes_with_the_volume_or_its_mirror(folder: Path, end: str) -> None:
    driver = Driver(folder, os.getpid(), folder / "mirror")
    try:
        made = [driver.client.create(name, mutable_parameters={"mirrorSeconds": "3600"}) for name in ("one", "stays")]
        (driver.volume(made[0].volume_id) / "file").write_text("1")

        def held() -> set[str]:
            return {path.name.split("-")[1] for path in (folder / "pool/snapshots").glob(".mirror-*")}

        def copied() -> list[Path]:
            return list((folder / "mirror/snapshots").glob("one-*.json"))

        until(lambda: held() == {"one", "stays"} and copied(), driver)
        if end == "delete":
            driver.client.DeleteVolume(volume_id=made[0].volume_id)
        else:
            driver.client.ControllerModifyVolume(volume_id=made[0].volume_id, mutable_parameters={"mirrorSeconds": "0"})
        until(lambda: held() == {"stays"}, driver)
        assert len(copied()) == 1, "the copy itself stays"
    finally:
        driver.stop()


def test_a_claim_is_of_one_volume_and_the_earlier_one_is_copied_no_more(folder: Path) -> None:
    store = Store(folder / "pool")
    for name in ("old", "new"):
        store.create_volume(name, ANY, None, Kept(60, "lab/models"))
    assert [(one.id, one.claim, one.mirror_seconds) for one in store.all_volumes()] == [
        ("old", "", 0),
        ("new", "lab/models", 60),
    ]
    store.modify_volume("old", Kept(claim="lab/models"))
    assert {one.id: one.claim for one in store.all_volumes()} == {"old": "lab/models", "new": ""}


def copies(folder: Path, volume: str, file: str) -> list[Path]:
    """Where the second pool has a file of a volume."""
    return list((folder / "mirror/snapshots").glob(f"{volume}-*/{file}"))


def until(found: Callable[[], object], driver: Driver) -> None:
    """Waits for what the driver does by itself."""
    eventually(found, about=lambda: driver.log)


def test_a_driver_keeps_the_copies_as_young_as_asked_for(folder: Path) -> None:
    driver = Driver(folder, os.getpid(), folder / "mirror")
    try:
        driver.client.create("alone")
        volume = driver.client.create("data", mutable_parameters={"mirrorSeconds": "1"}).volume_id
        (driver.volume(volume) / "file").write_text("kept")
        until(lambda: copies(folder, "data", "file"), driver)
        assert not copies(folder, "alone", "")
    finally:
        driver.stop()
    assert "Traceback" not in driver.log
