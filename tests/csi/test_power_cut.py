"""The machine ended at any change of the disk: what a call had answered is there, what it had begun can be repeated.

A copy of the file behind the pool is what a power cut leaves: btrfs holds back what it has not committed.
"""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tensorplane.embedded.csi import btrfs, pool
from tensorplane.embedded.csi.store import Store
from tests.csi import test_killed
from tests.csi.dying import SUBVOLUMES
from tests.csi.private import mount_memory, privately
from tests.csi.test_killed import content, killed_at, opened

CALLS = {call.__name__: call for call in test_killed.CALLS}


@contextmanager
def mounted(file: Path) -> Iterator[Path]:
    """The pool on a file, for now."""
    folder = file.with_suffix("")
    pool.make_and_mount(file, folder, 3)
    try:
        yield folder
    finally:
        pool.unmount(folder)


def copied(file: Path, name: str) -> Path:
    """What of a file is on disk now."""
    copy = file.with_name(f"{name}.btrfs")
    subprocess.run(["cp", "--sparse=always", file, copy], check=True)
    return copy


def limits(store: Store) -> dict[str, int]:
    """What the kernel lets each volume take."""
    kernel = Path("/sys/fs/btrfs") / str(btrfs.identity(store.pool)) / "qgroups"
    numbers = {one.id: btrfs.number(store.path(one)) for one in store.all_volumes()}
    return {id_: int((kernel / f"0_{number}" / "max_referenced").read_text()) for id_, number in numbers.items()}


def prepare(folder: Path) -> None:
    """For pools that only the driver commits: a copy of a file meanwhile would be of several moments."""
    mount_memory(folder)
    pool._OPTIONS = f"{pool._OPTIONS},commit=86400,nodiscard"


def cut_anywhere(folder: Path, name: str) -> None:
    """Ends a call at each of its steps, and after the last of them."""
    prepare(folder)
    call = CALLS[name]
    whole = folder / "whole.btrfs"
    with mounted(whole) as at:
        store = opened(at)
        before = content(store)
        os.sync()
        store.close()
    for step in itertools.count():
        file = copied(whole, f"step-{step}")
        with mounted(file) as at, pytest.MonkeyPatch.context() as patch:
            store = Store(at)
            killed = killed_at(step, patch, call, store, SUBVOLUMES)
            cut = copied(file, f"cut-{step}")
            if not killed:
                wanted = content(store)
            store.close()
        with mounted(cut) as at:
            store = Store(at)
            left = content(store)
            assert limits(store) == {one.id: one.size for one in store.all_volumes()}
            call(store)
            repeated = content(store)
            store.close()
        if not killed:
            assert step > 2
            assert left == wanted == repeated
            return
        assert left in (before, repeated)
        for one in (file, cut):
            one.unlink()


def cut_after_a_write(folder: Path) -> None:
    """What a program wrote just before a snapshot is in the snapshot."""
    prepare(folder)
    file = folder / "written.btrfs"
    with mounted(file) as at:
        store = opened(at)
        (store.path(store.volume("first")) / "data").write_text("two")
        store.create_snapshot("later", "first")
        cut = copied(file, "cut")
        store.close()
    with mounted(cut) as at:
        assert (at / "snapshots/later/data").read_text() == "two"
        Store(at).close()


@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_done_once_it_is_answered(call: str, tmp_path: Path) -> None:
    privately(cut_anywhere, tmp_path, call)


def test_what_was_written_before_a_snapshot_is_in_it(tmp_path: Path) -> None:
    privately(cut_after_a_write, tmp_path)
