"""Copies of volumes in a second pool: what is sent, what is kept, and the way there and back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from tensorplane.embedded.csi import pool
from tensorplane.embedded.csi.mirror import Mirror
from tensorplane.embedded.csi.records import Source
from tensorplane.embedded.csi.sizes import SizeRange
from tensorplane.embedded.csi.storage import Btrfs
from tensorplane.embedded.csi.store import Store, VolumeRecord
from tests.csi.driver import Driver
from tests.csi.private import mount_memory, privately
from tests.support.waiting import eventually

ANY = SizeRange()
MIB = 1 << 20


def there_and_back(folder: Path) -> None:
    """A volume is copied twice, lost, taken over by the second pool, changed there and brought back."""
    store, target = Store(folder / "pool"), Store(folder / "mirror")
    there, back = Mirror(store, target), Mirror(target, store)
    volume = store.create_volume("data", SizeRange(64 * MIB), None, VolumeRecord(60))
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


def between_pools_on_btrfs(folder: Path) -> None:
    """The same, where only what changed is sent."""
    mount_memory(folder)
    for name in ("pool", "mirror"):
        pool.make_and_mount(folder / f"{name}.btrfs", folder / name, 2)
    there_and_back(folder)


@pytest.fixture
def folder(in_memory: Path) -> Path:
    """A folder with two pools."""
    for name in ("pool", "mirror"):
        (in_memory / name).mkdir()
    return in_memory


@pytest.fixture
def mirroring(folder: Path) -> Iterator[Driver]:
    """A driver on them."""
    driver = Driver(folder, mirror=folder / "mirror")
    yield driver
    driver.stop()


def test_there_and_back_between_ordinary_folders(folder: Path) -> None:
    there_and_back(folder)


def test_there_and_back_between_pools_on_btrfs(tmp_path: Path) -> None:
    privately(between_pools_on_btrfs, tmp_path)


def test_a_volume_begins_as_the_newest_copy_of_a_claim_whose_volume_is_lost(mirroring: Driver, folder: Path) -> None:
    told = {"csi.storage.k8s.io/pvc/namespace": "lab", "csi.storage.k8s.io/pvc/name": "models"}
    taking_over = {**told, "csi.storage.k8s.io/pvc/name": "again", "mirrorOf": "models"}
    with pytest.raises(grpc.RpcError, match="claim lab/models: the second pool has no copy"):
        mirroring.client.create("again", parameters=taking_over)
    first = mirroring.client.create("first", parameters=told).volume_id
    (mirroring.volume(first) / "file").write_text("kept")
    # The mirror is turned on afterwards, as the resizer does it, and turned off again.
    mirroring.client.ControllerModifyVolume(volume_id=first, mutable_parameters={"mirrorSeconds": "1", **told})
    until(lambda: copies(folder, "first", "file"), mirroring)
    mirroring.client.ControllerModifyVolume(volume_id=first, mutable_parameters={"mirrorSeconds": "0"})
    mirroring.kill()
    shutil.rmtree(folder / "pool")
    (folder / "pool").mkdir()
    mirroring.start()
    again = mirroring.client.create("again", parameters=taking_over)
    assert mirroring.client.create("again", parameters=taking_over) == again
    assert again.capacity_bytes == 64 * MIB
    assert (mirroring.volume(again.volume_id) / "file").read_text() == "kept"
    with pytest.raises(grpc.RpcError, match="has 67108864"):
        mirroring.client.create("smaller", 32, parameters=taking_over)
    assert not list(folder.glob("*/snapshots/.brought-*"))


@pytest.mark.parametrize("end", ["delete", "turn off"])
def test_what_the_next_copy_is_compared_with_goes_with_the_volume_or_its_mirror(
    mirroring: Driver, folder: Path, end: str
) -> None:
    made = [mirroring.client.create(name, mutable_parameters={"mirrorSeconds": "3600"}) for name in ("one", "stays")]
    (mirroring.volume(made[0].volume_id) / "file").write_text("1")

    def held() -> set[str]:
        return {path.name.split("-")[1] for path in (folder / "pool/snapshots").glob(".mirror-*")}

    def copied() -> list[Path]:
        return list((folder / "mirror/snapshots").glob("one-*.json"))

    until(lambda: held() == {"one", "stays"} and copied(), mirroring)
    if end == "delete":
        mirroring.client.DeleteVolume(volume_id=made[0].volume_id)
    else:
        mirroring.client.ControllerModifyVolume(volume_id=made[0].volume_id, mutable_parameters={"mirrorSeconds": "0"})
    until(lambda: held() == {"stays"}, mirroring)
    assert len(copied()) == 1, "the copy itself stays"


def test_a_claim_is_of_one_volume_and_the_earlier_one_is_copied_no_more(folder: Path) -> None:
    store = Store(folder / "pool")
    for name in ("old", "new"):
        store.create_volume(name, ANY, None, VolumeRecord(60, "lab/models"))
    assert [(one.id, one.claim, one.mirror_seconds) for one in store.all_volumes()] == [
        ("old", "", 0),
        ("new", "lab/models", 60),
    ]
    store.modify_volume("old", VolumeRecord(claim="lab/models"))
    assert {one.id: one.claim for one in store.all_volumes()} == {"old": "lab/models", "new": ""}


def copies(folder: Path, volume: str, file: str) -> list[Path]:
    """Where the second pool has a file of a volume."""
    return list((folder / "mirror/snapshots").glob(f"{volume}-*/{file}"))


def until(found: Callable[[], object], driver: Driver) -> None:
    """Waits for what the driver does by itself."""
    eventually(found, about=lambda: driver.log)


def test_a_driver_keeps_the_copies_as_young_as_asked_for(mirroring: Driver, folder: Path) -> None:
    mirroring.client.create("alone")
    volume = mirroring.client.create("data", mutable_parameters={"mirrorSeconds": "1"}).volume_id
    (mirroring.volume(volume) / "file").write_text("kept")
    until(lambda: copies(folder, "data", "file"), mirroring)
    assert not copies(folder, "alone", "")
    mirroring.stop()
    assert "Traceback" not in mirroring.log


def test_a_driver_ends_whichever_of_its_threads_takes_the_signal(mirroring: Driver) -> None:
    mirroring.stop(by_main_thread=False)
    assert "Traceback" not in mirroring.log
