"""The driver ended before and after each single change of the disk: repeating the call finishes what it had begun."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tensorplane.embedded.csi.failover import Failover
from tensorplane.embedded.csi.mirror import Mirror
from tensorplane.embedded.csi.records import Source, Volume
from tensorplane.embedded.csi.sizes import SizeRange
from tensorplane.embedded.csi.store import Store, VolumeRecord
from tests.csi.dying import FOLDERS, watched

ANY = SizeRange()


class Killed(BaseException):
    """The driver's end, in the middle of something."""


def opened(pool: Path) -> Store:
    store = Store(pool)
    volume = store.create_volume("first", ANY, None)
    (store.path(volume) / "data").write_text("one")
    store.create_snapshot("kept", "first")
    return store


def delete_snapshot(store: Store) -> None:
    store.delete_snapshot("kept")


def delete_volume(store: Store) -> None:
    store.delete_volume("first")


def clone(store: Store) -> None:
    store.create_volume("second", ANY, Source("volume", "first"))


def restore(store: Store) -> None:
    store.create_volume("second", ANY, Source("snapshot", "kept"))


def create(store: Store) -> None:
    store.create_volume("second", ANY, None)


def snapshot(store: Store) -> None:
    store.create_snapshot("later", "first")


def expand(store: Store) -> None:
    store.expand_volume("first", SizeRange(2 << 30))


def content(store: Store) -> dict[str, Any]:
    """Everything that anybody can see."""
    sizes = {one.name: one.size for one in store.all_volumes()} | {one.name: one.size for one in store.all_snapshots()}
    files = {str(path.relative_to(store.pool)): path.read_text() for path in store.pool.rglob("data")}
    return {"sizes": sizes, "files": files, "names": {path.name for path in store.pool.glob("*/*")}}


def killed_at(
    step: int,
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[[Store], object],
    store: Store,
    steps: Iterable[tuple[object, str]] = FOLDERS,
) -> bool:
    """Makes a call, and ends before or after its so-manieth change of the disk; whether it came that far."""
    counted = itertools.count()

    def look() -> None:
        if next(counted) >= step:
            raise Killed

    with monkeypatch.context() as patch:
        for owner, name in steps:
            patch.setattr(owner, name, watched(getattr(owner, name), look))
        try:
            call(store)
        except Killed:
            return True
    return False


CALLS = (create, clone, restore, snapshot, expand, delete_volume, delete_snapshot)


def pools_killed_anywhere(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[[Store, Store], object],
    prepare: Callable[[Store, Store], object] = lambda *_: None,
    least: int = 3,
) -> Iterator[tuple[Store, Store]]:
    """Two pools, as a call leaves them that is ended at the first change of the disk, the second, and so on; last
    without an end. `least`: so many ends there are."""
    killed, step = True, 0
    while killed:
        pools = folder / f"pool-{step}", folder / f"mirror-{step}"
        for pool in pools:
            pool.mkdir()
        store, target = opened(pools[0]), Store(pools[1])
        prepare(store, target)
        killed = killed_at(step, monkeypatch, lambda store, target=target: call(store, target), store)  # type: ignore[misc]
        for one in (store, target):
            one.close()
        store, target = Store(pools[0]), Store(pools[1])
        yield store, target
        for one in (store, target):
            one.close()
        step += 1
    assert step > least


@pytest.mark.parametrize("call", CALLS)
def test_a_call_killed_anywhere_is_finished_by_repeating_it(
    call: Callable[[Store], None], in_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (in_memory / "whole").mkdir()
    whole = opened(in_memory / "whole")
    before = content(whole)
    call(whole)
    wanted = content(whole)
    for again, _ in pools_killed_anywhere(in_memory, monkeypatch, lambda store, _: call(store)):
        assert content(again) in (before, wanted), "what was begun is there or not, and leaves nothing else"
        call(again)
        assert content(again) == wanted


def test_a_copy_to_a_second_pool_that_is_killed_anywhere_is_whole_or_not_there(
    in_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copy(store: Store, target: Store) -> None:
        Mirror(store, target).copy(store.volume("first"))

    def copy_twice(store: Store, target: Store) -> None:
        store.modify_volume("first", VolumeRecord(60))
        copy(store, target)
        copy(store, target)

    for store, target in pools_killed_anywhere(in_memory, monkeypatch, copy, copy_twice, least=6):
        for wanted in ({1, 2, 3}, {2}):
            copies = target.all_snapshots()
            assert len(copies) in wanted
            assert {(target.snapshots / copy.id / "data").read_text() for copy in copies} == {"one"}
            copy(store, target)
        assert len(list(store.snapshots.glob(".*"))) == 1
        assert not list(target.snapshots.glob(".*"))


def test_a_failover_that_is_killed_anywhere_is_finished_by_repeating_it(
    in_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = VolumeRecord(60, "lab/models")

    def lose(store: Store, target: Store) -> None:
        Mirror(store, target).copy(store.modify_volume("first", kept))
        store.delete_volume("first")

    def fail_over(store: Store, target: Store) -> Volume:
        return Failover(store, target).create_volume("again", ANY, "lab/models", kept)

    for store, target in pools_killed_anywhere(in_memory, monkeypatch, fail_over, lose, least=6):
        assert {one.id for one in store.all_volumes()} <= {"again"}
        made = fail_over(store, target)
        assert (store.path(made) / "data").read_text() == "one"
        assert (made.claim, made.mirror_seconds) == ("lab/models", 60)
        assert len(target.all_snapshots()) == 1
        assert not list(in_memory.glob("*/*/.brought-*"))
        assert not list(in_memory.glob("*/*/.gone-*"))


def test_a_failed_call_leaves_nothing_in_the_next_one(in_memory: Path) -> None:
    store = opened(in_memory)
    for draft in (store.volumes / ".new-second", store.snapshots / ".new-later"):
        draft.mkdir()
        (draft / "half").touch()
    create(store)
    snapshot(store)
    assert not list(in_memory.glob("*/*/half"))
