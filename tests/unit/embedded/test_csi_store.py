"""The pool's volumes on an ordinary folder: who may work on it, and what it is asked for that cannot be."""

from __future__ import annotations

import fcntl
from pathlib import Path

import grpc
import pytest

from tensorplane.embedded.csi.records import Source
from tensorplane.embedded.csi.refusal import Refusal
from tensorplane.embedded.csi.sizes import SizeRange
from tensorplane.embedded.csi.store import Store

ANY = SizeRange()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A pool with one volume."""
    store = Store(tmp_path)
    store.create_volume("first", ANY, None)
    return store


def test_a_second_store_waits_for_the_pool(tmp_path: Path) -> None:
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
            SizeRange(2 << 30),
            None,
            "ALREADY_EXISTS",
            "first: a volume with 1073741824 bytes already has this name",
        ),
        (
            "first",
            ANY,
            Source("snapshot", "kept"),
            "ALREADY_EXISTS",
            "a volume with other content already has this name",
        ),
        ("new", ANY, Source("snapshot", "gone"), "NOT_FOUND", "snapshot gone: does not exist"),
        ("new", ANY, Source("volume", "../first"), "NOT_FOUND", "volume ../first: does not exist"),
        ("new", SizeRange(1 << 20), Source("volume", "first"), "OUT_OF_RANGE", "the source has 1073741824"),
        ("new", SizeRange(0, 1 << 19), None, "OUT_OF_RANGE", "below the smallest volume of 1048576"),
        ("new", SizeRange(1 << 60), None, "OUT_OF_RANGE", "the pool has"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(
    name: str, asked: SizeRange, source: Source | None, code: str, reason: str, store: Store
) -> None:
    before = sorted(store.pool.rglob("*"))
    with pytest.raises(Refusal, match=reason.replace("..", r"\.\.")) as refused:
        store.create_volume(name, asked, source)
    assert refused.value.code is grpc.StatusCode[code]
    assert sorted(store.pool.rglob("*")) == before


def test_a_volume_never_shrinks(store: Store) -> None:
    assert store.expand_volume("first", SizeRange(1 << 20)).size == 1 << 30
    with pytest.raises(Refusal, match="1073741824"):
        store.expand_volume("first", SizeRange(0, 1 << 20))
