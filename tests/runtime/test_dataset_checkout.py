"""Checkouts that cannot be made as a whole are not there at all."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tensorplane.datasets import Dataset, File, Refused
from tensorplane.datasets.store import Store
from tests.runtime.test_dataset import put


def test_a_checkout_that_fails_leaves_nothing(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that looks whether the folder is there would read a part of the version."""
    put(dataset, a="1", b="2")

    def full(store: Store, file: File, target: Path) -> None:
        if target.name == "b":
            raise OSError(errno.ENOSPC, "No space left on device")
        link(store, file, target)

    link = Store.link
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr(Store, "link", full)
        dataset.checkout("main", tmp_path / "new" / "some")
    assert list((tmp_path / "new").iterdir()) == []
    dataset.checkout("main", tmp_path / "new" / "some")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["some"]


@pytest.mark.parametrize("kind", ["folder", "full", "file", "link"])
def test_a_checkout_replaces_nothing(dataset: Dataset, tmp_path: Path, kind: str) -> None:
    put(dataset, a="1")
    there = tmp_path / "there"
    if kind == "link":
        there.symlink_to("nowhere")
    elif kind == "file":
        there.write_text("mine")
    else:
        (there / "mine" if kind == "full" else there).mkdir(parents=True)
    before = there.lstat()
    with pytest.raises(Refused, match="there: exists; name a new folder"):
        dataset.checkout("main", there)
    assert there.lstat() == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
