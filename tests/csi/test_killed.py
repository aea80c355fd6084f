"""The driver ended before and after each single change of the disk: repeating the call finishes what it had begun."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from embedded.csi import records
from embedded.csi.failover import Failover
from embedded.csi.mirror import Mirror
from embedded.csi.records import Source
from embedded.csi.sizes import Asked
from embedded.csi.store import Kept, Store

ANY = Asked()
STEPS = (
    (records, "write"),
    (records, "keep"),
    (Path, "rename"),
    (Path, "replace"),
    (Path, "unlink"),
    (shutil, "rmtree"),
    (subprocess, "run"),
)


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
    store.expand_volume("first", Asked(2 << 30))


def content(store: Store) -> dict[str, Any]:
    """Everything that anybody can see."""
    sizes = {one.name: one.size for one in store.all_volumes()} | {one.name: one.size for one in store.all_snapshots()}
    files = {str(path.relative_to(store.pool)): path.read_text() for path in store.pool.rglob("data")}
    return {"sizes": sizes, "files": files, "names": {path.name for path in store.pool.glob("*/*")}}


def killed_at(
    step: int,
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[[Store], None],
    store: Store,
    steps: Iterable[tuple[object, str]] = STEPS,
) -> bool:
    """Makes a call, and ends before or after its so-manieth change of the disk; whether it came that far."""
    counted = itertools.count()

    def ending(change: Callable[..., Any]) -> Callable[..., Any]:
        def made(*arguments: Any, **more: Any) -> Any:
            if next(counted) >= step:
                raise Killed
            answer = change(*arguments, **more)
            if next(counted) >= step:
                raise Killed
            return answer

        return made

    with monkeypatch.context() as patch:
        for owner, name in steps:
            patch.setattr(owner, name, ending(getattr(owner, name)))
        try:
            call(store)
        except Killed:
            return True
    return False


CALLS = (create, clone, restore, snapshot, expand, delete_volume, delete_snapshot)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_killed_anywhere_is_finished_by_repeating_it(
    call: Callable[[Store], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "whole").mkdir()
    whole = opened(tmp_path / "whole")
    before = content(whole)
    call(whole)
    wanted = content(whole)
    for step in itertools.count():
        pool = tmp_path / str(step)
        pool.mkdir()
        store = opened(pool)
        killed = killed_at(step, monkeypatch, call, store)
        store.close()
        again = Store(pool)
        assert content(again) in (before, wanted), "what was begun is there or not, and leaves nothing else"
        call(again)
        assert content(again) == wanted
        again.close()
        if not killed:
            assert step > 2
            return


def test_a_copy_to_a_second_pool_that_is_killed_anywhere_is_whole_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in itertools.count():
        pools = tmp_path / f"pool-{step}", tmp_path / f"mirror-{step}"
        for pool in pools:
            pool.mkdir()
        store, target = opened(pools[0]), Store(pools[1])
        there, volume = Mirror(store, target), store.modify_volume("first", Kept(60))
        there.copy(volume)
        there.copy(volume)
        killed = killed_at(step, monkeypatch, lambda _, there=there, volume=volume: there.copy(volume), store)  # type: ignore[misc]
        store.close()
        target.close()
        store, target = Store(pools[0]), Store(pools[1])
        for wanted in ({1, 2, 3}, {2}):
            copies = target.all_snapshots()
            assert len(copies) in wanted
            assert {(target.snapshots / copy.id / "data").read_text() for copy in copies} == {"one"}
            Mirror(store, target).copy(volume)
        assert len(list(store.snapshots.glob(".*"))) == 1
        assert not list(target.snapshots.glob(".*"))
        store.close()
        target.close()
        if not killed:
            assert step > 5
            return


def test_a_failover_that_is_killed_anywhere_is_finished_by_repeating_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Kept(60, "lab/models")
    for step in itertools.count():
        pools = tmp_path / f"pool-{step}", tmp_path / f"mirror-{step}"
        for pool in pools:
            pool.mkdir()
        store, target = opened(pools[0]), Store(pools[1])
        Mirror(store, target).copy(store.modify_volume("first", kept))
        store.delete_volume("first")
        way = Failover(store, target)
        again = partial(way.create_volume, "again", ANY, "lab/models", kept)
        killed = killed_at(step, monkeypatch, lambda _, again=again: again(), store)  # type: ignore[misc]
        store.close()
        target.close()
        store, target = Store(pools[0]), Store(pools[1])
        assert {one.id for one in store.all_volumes()} <= {"again"}
        made = Failover(store, target).create_volume("again", ANY, "lab/models", kept)
        assert (store.path(made) / "data").read_text() == "one"
        assert (made.claim, made.mirror_seconds) == ("lab/models", 60)
        assert len(target.all_snapshots()) == 1
        assert not list(tmp_path.glob("*/*/.brought-*"))
        assert not list(tmp_path.glob("*/*/.gone-*"))
        store.close()
        target.close()
        if not killed:
            assert step > 5
            return


def test_a_failed_call_leaves_nothing_in_the_next_one(tmp_path: Path) -> None:
    store = opened(tmp_path)
    for draft in (store.volumes / ".new-second", store.snapshots / ".new-later"):
        draft.mkdir()
        (draft / "half").touch()
    create(store)
    snapshot(store)
    assert not list(tmp_path.glob("*/*/half"))
