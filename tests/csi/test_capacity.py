"""The disk under the pool fills: volumes stop growing before the pool breaks, nothing new is made, and all goes on."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import grpc
import pytest

from tensorplane.embedded.csi import capacity, growth, pool
from tensorplane.embedded.csi.failover import Failover
from tensorplane.embedded.csi.growth import Guard
from tensorplane.embedded.csi.mirror import Mirror
from tensorplane.embedded.csi.refusal import Refusal
from tensorplane.embedded.csi.sizes import SizeRange
from tensorplane.embedded.csi.store import NOTHING, Store, VolumeRecord
from tests.csi.private import mount_memory, privately

MIB = 1 << 20
DISK, FILE_GIB = 420, 2
"""MiB of the disk, and what the pool on it believes to have."""


def fill(folder: Path) -> None:
    """A disk that is smaller than its pool: a volume is written until the guard stops it, and on once there is room."""
    mount_memory(folder, DISK)
    capacity.RESERVE = 64 * MIB
    growth._RESUME_BYTES = 16 * MIB
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(100 * MIB))
    pool.make_and_mount(folder / "volumes.btrfs", folder / "pool", FILE_GIB)
    (folder / "mirror").mkdir()
    store, mirror = Store(folder / "pool"), Store(folder / "mirror")
    guard, volume = Guard(store), store.create_volume("data", SizeRange(1024 * MIB), None, VolumeRecord(60, "lab/data"))
    Mirror(store, mirror).copy(volume)
    written = 0
    with (store.path(volume) / "file").open("wb") as file:
        with pytest.raises(OSError, match="quota") as stopped:
            while True:
                guard.look()
                file.write(os.urandom(4 * MIB))
                file.flush()
                os.fsync(file.fileno())
                written += 4 * MIB
        assert stopped.value.errno == errno.EDQUOT
        assert capacity.free_bytes(store.pool) > capacity.RESERVE // 2
        for refused in (
            lambda: store.create_volume("more", SizeRange(), None),
            lambda: store.create_snapshot("more", "data"),
            lambda: store.expand_volume("data", SizeRange(2000 * MIB)),
            lambda: Mirror(store, mirror).copy(volume),
            lambda: Failover(store, mirror).create_volume("again", SizeRange(), "lab/data", NOTHING),
        ):
            with pytest.raises(Refusal, match="MiB left, but 64 MiB are reserved") as answer:
                refused()
            assert answer.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        ballast.unlink()
        guard.look()
        file.seek(0, os.SEEK_END)
        file.write(os.urandom(40 * MIB))
        file.flush()
        os.fsync(file.fileno())
    assert (store.path(volume) / "file").stat().st_size > written + 30 * MIB
    store.create_snapshot("after", "data")


def test_a_disk_that_fills_under_the_pool_stops_volumes_and_breaks_nothing(tmp_path: Path) -> None:
    said = privately(fill, tmp_path)
    assert "volumes cannot grow until space is freed" in said
    assert "volumes can grow again" in said
