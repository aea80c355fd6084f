"""Files that come, go and move while a folder is listed for a commit."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tensorplane.datasets import Dataset, Refused, listing
from tests.runtime.test_dataset import text, write


@pytest.fixture
def before_listing(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[Path], object]]:
    """What is called with each folder before it is listed."""
    called: list[Callable[[Path], object]] = []
    scandir = os.scandir

    def listed(at: Any) -> Any:
        for each in called:
            each(Path(at))
        return scandir(at)

    monkeypatch.setattr(os, "scandir", listed)
    return called


def test_a_file_that_moves_to_a_folder_that_was_listed_already_is_there(
    dataset: Dataset, folder: Path, before_listing: list[Callable[[Path], object]]
) -> None:
    write(folder, a__1="1", b__2="2")
    (folder / "b" / "moving").write_text("3")
    (folder / "a" / "moving").write_text("3")
    seen: list[Path] = []

    def move(at: Path) -> None:
        if at.parent == folder and at not in seen:
            seen.append(at)
            (at / "moving").unlink()  # the first one, or what is to come from the second
            if len(seen) == 2:
                (seen[0] / "moving").write_text("3")

    before_listing.append(move)
    dataset.commit(folder)
    first = seen[0].name
    assert text(dataset) == {"a/1": "1", "b/2": "2", f"{first}/moving": "3"}


@pytest.mark.parametrize("gone", ["a/b", "a"])
def test_a_folder_that_leaves_while_it_is_listed_is_not_there(
    dataset: Dataset, folder: Path, before_listing: list[Callable[[Path], object]], gone: str
) -> None:
    write(folder, a__b__1="1", a__2="2", c="3")

    def leave(at: Path) -> None:
        if at == folder / gone and at.exists():
            at.rename(folder.parent / "elsewhere")

    before_listing.append(leave)
    dataset.commit(folder)
    assert text(dataset) == ({"c": "3", "a/2": "2"} if gone == "a/b" else {"c": "3"})


def test_files_that_come_all_the_time_do_not_keep_others_from_a_commit(
    dataset: Dataset, folder: Path, before_listing: list[Callable[[Path], object]]
) -> None:
    write(folder, a__0="0")
    come: list[Path] = []

    def add(at: Path) -> None:
        come.append(at / f"new-{len(come)}")
        come[-1].write_text("1")
        os.utime(at, ns=(0, len(come)))  # however coarse its clock is

    before_listing.append(add)
    made = dataset.commit(folder)
    assert (len(come) > 2, made.files > 2) == (True, True)


def test_files_that_leave_all_the_time_are_told(
    dataset: Dataset, folder: Path, before_listing: list[Callable[[Path], object]]
) -> None:
    (folder / "a").mkdir()
    for number in range(100):
        (folder / "a" / f"{number:03}").write_text("1")

    def leave(at: Path) -> None:
        if at.name == "a":
            left = sorted(at.iterdir())
            left[0].unlink()
            os.utime(at, ns=(0, len(left)))

    before_listing.append(leave)
    with pytest.raises(Refused, match=r"^'a/\d+': changes while it is read; commit once its writer has finished$"):
        dataset.commit(folder)


def test_on_another_file_system_what_is_gone_is_named(
    folder: Path, before_listing: list[Callable[[Path], object]]
) -> None:
    write(folder, a__1="1")
    before_listing.append(lambda at: (folder / "a").rename(folder.parent / "elsewhere") if at.name == "a" else None)
    with pytest.raises(Refused, match=r"^'a': changes while it is read; commit once its writer has finished$"):
        listing.stamps(folder, None)
