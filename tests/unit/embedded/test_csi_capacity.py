"""Volumes stop growing while the disk has no room: which limits are set when, without a disk that fills."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorplane.embedded.csi import capacity
from tensorplane.embedded.csi.capacity import RESERVE
from tensorplane.embedded.csi.growth import Guard
from tensorplane.embedded.csi.sizes import SizeRange
from tensorplane.embedded.csi.store import Store

MIB = 1 << 20


def test_what_is_made_or_grown_before_there_is_enough_room_grows_no_more_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, disk, limits = Store(tmp_path), {"left": 2 * RESERVE}, dict[str, int]()
    monkeypatch.setattr(capacity, "free_bytes", lambda _: disk["left"])
    monkeypatch.setattr(store.storage, "usage", lambda _: MIB)
    monkeypatch.setattr(store.storage, "limit", lambda path, size: limits.update({path.name: size}))
    guard = Guard(store)

    def look(left: int) -> dict[str, int]:
        disk["left"] = left
        guard.look()
        return {name: size // MIB for name, size in sorted(limits.items())}

    store.create_volume("old", SizeRange(8 * MIB), None)
    assert look(2 * RESERVE) == {"old": 8}
    assert look(RESERVE - 1) == {"old": 1}
    disk["left"] = RESERVE + 1
    store.create_volume("new", SizeRange(8 * MIB), None)
    store.expand_volume("old", SizeRange(16 * MIB))
    assert look(RESERVE + 1) == {"new": 1, "old": 1}
    assert look(2 * RESERVE) == {"new": 8, "old": 16}
    assert look(RESERVE - 1) == {"new": 1, "old": 1}


def test_a_volume_that_is_being_changed_has_its_turn_at_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, limits = Store(tmp_path), dict[str, int]()
    for name in ("busy", "free"):
        store.create_volume(name, SizeRange(8 * MIB), None)
    monkeypatch.setattr(capacity, "free_bytes", lambda _: RESERVE - 1)
    monkeypatch.setattr(store.storage, "usage", lambda _: MIB)
    monkeypatch.setattr(store.storage, "limit", lambda path, size: limits.update({path.name: size}))
    guard = Guard(store)
    with store._turns.hold(store.volumes / "busy"):
        guard.look()
    assert limits == {"free": MIB}
    guard.look()
    assert limits == {"busy": MIB, "free": MIB}
