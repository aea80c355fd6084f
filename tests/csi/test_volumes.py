"""What csi-sanity does not look at: content, limits, sharing, and both ways to make copies."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import grpc
import pytest

from tensorplane.embedded.csi import btrfs, contract
from tensorplane.embedded.csi.generated import csi_pb2, registration_pb2
from tests.csi.client import MODES, Client, capability, of_snapshot, of_volume
from tests.csi.driver import Driver, empty

MIB = 1 << 20


def publish(driver: Driver, volume: str, target: str, mode: int = MODES.MULTI_NODE_MULTI_WRITER, **more: bool) -> Path:
    """Mounts a volume as the kubelet does; gives the place as this process sees it."""
    path = driver.folder / "pods" / target
    path.parent.mkdir(exist_ok=True)
    driver.client.NodePublishVolume(volume_id=volume, target_path=str(path), volume_capability=capability(mode), **more)
    return driver.inside(path)


def unpublish(driver: Driver, volume: str, target: str) -> None:
    driver.client.NodeUnpublishVolume(volume_id=volume, target_path=str(driver.folder / "pods" / target))


def refused(code: grpc.StatusCode) -> pytest.RaisesExc[grpc.RpcError]:
    return pytest.RaisesExc(grpc.RpcError, check=lambda error: error.code() is code)


@pytest.fixture(params=["btrfs_driver", "copying_driver"])
def either(request: pytest.FixtureRequest) -> Driver:
    found: Driver = request.getfixturevalue(request.param)
    request.addfinalizer(lambda: empty(found))
    return found


def test_copies_have_the_content_of_their_moment(either: Driver) -> None:
    create, client = either.client.create, either.client
    first = create("first").volume_id
    (either.volume(first) / "data").write_text("one")
    snapshot = client.CreateSnapshot(name="kept", source_volume_id=first).snapshot
    (either.volume(first) / "data").write_text("two")
    clone = create("clone", volume_content_source=of_volume(first)).volume_id
    restored = create("restored", volume_content_source=of_snapshot(snapshot.snapshot_id)).volume_id
    client.DeleteVolume(volume_id=first)
    client.DeleteSnapshot(snapshot_id=snapshot.snapshot_id)
    assert (either.volume(clone) / "data").read_text() == "two"
    assert (either.volume(restored) / "data").read_text() == "one"
    (either.volume(restored) / "data").write_text("three")
    assert not either.volume(first).exists()


def test_a_snapshot_repeated_later_is_the_first_one(driver: Driver) -> None:
    volume = driver.client.create("first").volume_id
    once = driver.client.CreateSnapshot(name="kept", source_volume_id=volume)
    (driver.volume(volume) / "late").touch()
    assert driver.client.CreateSnapshot(name="kept", source_volume_id=volume) == once
    taken = driver.snapshot(once.snapshot.snapshot_id)
    assert not (taken / "late").exists()
    with pytest.raises(OSError, match="Read-only"):
        (taken / "late").touch()


def test_a_limit_holds_until_it_grows(driver: Driver) -> None:
    volume = driver.client.create("small", 8).volume_id
    file = driver.volume(volume) / "data"
    with pytest.raises(OSError, match="quota") as full:
        file.write_bytes(os.urandom(16 * MIB))
    assert full.value.errno == errno.EDQUOT
    size = csi_pb2.CapacityRange(required_bytes=32 * MIB)
    assert driver.client.ControllerExpandVolume(volume_id=volume, capacity_range=size).capacity_bytes == 32 * MIB
    file.write_bytes(os.urandom(16 * MIB))
    os.sync()
    where = publish(driver, volume, "one")
    target = str(driver.folder / "pods/one")
    (usage,) = driver.client.NodeGetVolumeStats(volume_id=volume, volume_path=target).usage
    assert where.joinpath("data").stat().st_size == 16 * MIB
    assert usage.total == 32 * MIB and 16 * MIB <= usage.used < 18 * MIB
    assert usage.available == usage.total - usage.used
    unpublish(driver, volume, "one")


def test_a_clone_has_the_limit_that_it_asked_for(driver: Driver) -> None:
    volume = driver.client.create("first", 8).volume_id
    clone = driver.client.create("clone", 12, volume_content_source=of_volume(volume)).volume_id
    (driver.volume(clone) / "fits").write_bytes(os.urandom(10 * MIB))
    with pytest.raises(OSError, match="quota"):
        (driver.volume(clone) / "more").write_bytes(os.urandom(4 * MIB))
    with refused(grpc.StatusCode.OUT_OF_RANGE):
        driver.client.create("smaller", 4, volume_content_source=of_volume(volume))


def test_pods_share_a_volume_and_readers_cannot_write(driver: Driver) -> None:
    volume = driver.client.create("shared").volume_id
    one, two = publish(driver, volume, "one"), publish(driver, volume, "two")
    reader = publish(driver, volume, "reader", readonly=True)
    (one / "data").write_text("seen")
    assert (two / "data").read_text() == (reader / "data").read_text() == "seen"
    with pytest.raises(OSError, match="Read-only"):
        (reader / "data").write_text("no")
    assert publish(driver, volume, "one") == one, "asking again changes nothing"
    with refused(grpc.StatusCode.ALREADY_EXISTS):
        publish(driver, volume, "one", readonly=True)
    with refused(grpc.StatusCode.FAILED_PRECONDITION):
        publish(driver, volume, "alone", MODES.SINGLE_NODE_SINGLE_WRITER)
    with refused(grpc.StatusCode.FAILED_PRECONDITION):
        driver.client.DeleteVolume(volume_id=volume)
    for target in ("one", "two", "reader", "one"):
        unpublish(driver, volume, target)
    assert not one.exists()
    publish(driver, volume, "alone", MODES.SINGLE_NODE_SINGLE_WRITER)
    unpublish(driver, volume, "alone")


def test_a_volume_with_subvolumes_of_its_own_is_deleted_though_it_is_full(driver: Driver) -> None:
    volume = driver.client.create("nested", 2).volume_id
    btrfs.create(driver.volume(volume) / "inner")
    btrfs.create(driver.volume(volume) / "inner/most")
    with pytest.raises(OSError, match="quota"):
        (driver.volume(volume) / "data").write_bytes(os.urandom(4 * MIB))
    driver.client.DeleteVolume(volume_id=volume)
    assert list(driver.volume("").iterdir()) == []


def test_what_the_driver_did_not_make_is_left_alone(driver: Driver) -> None:
    foreign = driver.volume("mine")
    foreign.mkdir()
    (foreign / "data").write_text("kept")
    driver.client.DeleteVolume(volume_id="mine")
    with refused(grpc.StatusCode.ALREADY_EXISTS):
        driver.client.create("mine")
    driver.kill()
    driver.start()
    assert (foreign / "data").read_text() == "kept"
    (foreign / "data").unlink()
    foreign.rmdir()


def test_what_a_killed_driver_had_begun_is_gone_after_the_next_start(driver: Driver) -> None:
    driver.client.create("first")
    btrfs.create(driver.volume(".new-half"))
    btrfs.create(driver.volume(".gone-first-1"))
    (driver.volume(".gone-first-1") / "data").touch()
    btrfs.snapshot(driver.volume("first"), driver.snapshot(".gone-kept-1"), read_only=True)
    driver.snapshot("half.json").write_text("{}")
    driver.kill()
    driver.start()
    assert {path.name for path in driver.volume("").iterdir()} == {"first", "first.json"}
    assert list(driver.snapshot("").iterdir()) == []


def test_ids_are_never_paths(driver: Driver) -> None:
    with refused(grpc.StatusCode.NOT_FOUND):
        publish(driver, "../volumes", "one")
    driver.client.DeleteVolume(volume_id="..")
    made = driver.client.create("../../etc/Passwd").volume_id
    assert made.startswith("etc-passwd-") and driver.volume(made).is_dir()


def test_the_kubelet_learns_where_it_serves(driver: Driver) -> None:
    kubelet = Client(driver.registration, registration_pb2.DESCRIPTOR)
    info = kubelet.GetInfo()
    assert (info.type, info.name, info.endpoint) == ("CSIPlugin", contract.DRIVER, str(driver.socket))
    kubelet.NotifyRegistrationStatus(plugin_registered=True)
    kubelet.close()
    assert "registered with the kubelet" in driver.log
