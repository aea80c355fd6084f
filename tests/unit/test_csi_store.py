"""The pool's volumes on an ordinary folder: killed at every step, repeated, and asked for what cannot be."""

from __future__ import annotations

import fcntl
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from embedded.csi import records
from embedded.csi.records import Source
from embedded.csi.refusal import Refusal
from embedded.csi.sizes import Asked
from embedded.csi.store import Store

ANY = Asked()
STEPS = (
    (records, "write"),
    (records, "keep"),
    (Path, "rename"),
    (Path, "replace"),
    (Path, "unlink"),
    (shutil, "rmtree"),
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


def killed_at(step: int, monkeypatch: pytest.MonkeyPatch, call: Callable[[Store], None], store: Store) -> bool:
    """Makes a call, and ends before or after its so-manieth change of the disk; whether it came that far."""
    counted = itertools.count()

    def ending(change: Callable[..., Any]) -> Callable[..., Any]:
        def made(*arguments: Any, **more: Any) -> Any:
            if next(counted) == step:
                raise Killed
            answer = change(*arguments, **more)
            if next(counted) == step:
                raise Killed
            return answer

        return made

    with monkeypatch.context() as patch:
        for owner, name in STEPS:
            patch.setattr(owner, name, ending(getattr(owner, name)))
        try:
            call(store)
        except Killed:
            return True
    return False


@pytest.mark.parametrize("call", [create, clone, restore, snapshot, expand, delete_volume, delete_snapshot])
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


def test_a_failed_call_leaves_nothing_in_the_next_one(tmp_path: Path) -> None:
    store = opened(tmp_path)
    for draft in (store.volumes / ".new-second", store.snapshots / ".new-later"):
        draft.mkdir()
        (draft / "half").touch()
    create(store)
    snapshot(store)
    assert not list(tmp_path.glob("*/*/half"))


def test_nobody_else_works_on_the_pool(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with (tmp_path / ".lock").open() as lock:
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        store.close()
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize(
    ("name", "asked", "source", "code", "reason"),
    [
        (
            "first",
            Asked(2 << 30),
            None,
            "ALREADY_EXISTS",
            "first: there is a volume of that name, with 1073741824 bytes",
        ),
        ("first", ANY, Source("snapshot", "kept"), "ALREADY_EXISTS", "made of something else"),
        ("new", ANY, Source("snapshot", "gone"), "NOT_FOUND", "snapshot gone: there is none"),
        ("new", ANY, Source("volume", "../first"), "NOT_FOUND", "volume ../first: there is none"),
        ("new", Asked(1 << 20), Source("volume", "first"), "OUT_OF_RANGE", "what it is to be made of has 1073741824"),
        ("new", Asked(0, 1 << 19), None, "OUT_OF_RANGE", "need at least 1048576"),
        ("new", Asked(1 << 60), None, "OUT_OF_RANGE", "but the pool has"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(
    name: str, asked: Asked, source: Source | None, code: str, reason: str, tmp_path: Path
) -> None:
    store = opened(tmp_path)
    before = content(store)
    with pytest.raises(Refusal, match=reason.replace("..", r"\.\.")) as refused:
        store.create_volume(name, asked, source)
    assert refused.value.code is grpc.StatusCode[code]
    assert content(store) == before


def test_a_volume_never_shrinks(tmp_path: Path) -> None:
    store = opened(tmp_path)
    assert store.expand_volume("first", Asked(1 << 20)).size == 1 << 30
    with pytest.raises(Refusal, match="1073741824"):
        store.expand_volume("first", Asked(0, 1 << 20))
