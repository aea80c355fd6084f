"""Which files of a folder a commit reads again, and what it reads: other file systems, and files of versions."""

from __future__ import annotations

import mmap
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from tensorplane.datasets import Dataset, Refused, listing, tree
from tests.runtime.test_dataset import put, text, write

_MEMORY = Path("/dev/shm")


@pytest.fixture
def elsewhere(dataset: Dataset) -> Iterator[Path]:
    """An empty folder of another file system."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else "/tmp") as made:
        if Path(made).stat().st_dev == dataset.store.root.parent.stat().st_dev:
            pytest.skip("no second file system")
        yield Path(made)


@pytest.fixture
def mapped(folder: Path) -> Iterator[mmap.mmap]:
    """File `a` of the folder as memory, written to some time ago."""
    with (folder / "a").open("w+b") as file:
        file.truncate(mmap.PAGESIZE)
        with mmap.mmap(file.fileno(), 0) as made:
            made[0] = 1
            os.fsync(file.fileno())
            former = os.fstat(file.fileno()).st_mtime_ns
            time.sleep(0.1)
            made[0] = 2
            if os.fstat(file.fileno()).st_mtime_ns == former:
                pytest.skip("a file system without a disk")
            time.sleep(0.1)
            yield made


def _later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """This machine's clock goes on; files keep their times."""
    moment = time.time_ns() + int(seconds * 1e9)
    monkeypatch.setattr(time, "time_ns", lambda: moment)


@pytest.mark.parametrize("seconds", [0.2, 1.0, 30.0])
def test_a_change_in_the_same_step_of_a_coarse_clock_is_committed(
    dataset: Dataset, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """The file system counts whole seconds, and its server's clock is late."""
    monkeypatch.setattr(listing, "stamp", lambda about, path: f"{about.st_size} 0 0 {about.st_ino} {path}")
    write(elsewhere, a="old")
    _later(monkeypatch, seconds)
    dataset.commit(elsewhere)
    write(elsewhere, a="new")
    dataset.commit(elsewhere)
    assert text(dataset) == {"a": "new"}


def test_files_of_another_file_system_that_are_old_are_read_once(
    dataset: Dataset, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(elsewhere, a="1", b="2")
    _later(monkeypatch, 3600)
    dataset.commit(elsewhere)
    write(elsewhere, b="34")
    read, copy = list[str](), dataset.store.copy

    def noted(path: Path, source: BinaryIO, *, executable: bool) -> tree.File:
        read.append(path.name)
        return copy(path, source, executable=executable)

    monkeypatch.setattr(dataset.store, "copy", noted)
    dataset.commit(elsewhere)
    assert read == ["b"]
    assert text(dataset) == {"a": "1", "b": "34"}


def test_what_is_written_through_memory_later_is_committed(dataset: Dataset, folder: Path, mapped: mmap.mmap) -> None:
    """As by numpy.memmap: the second write to a page that is not on the disk yet leaves the file's time as it is."""
    for number in range(3, 6):
        dataset.commit(folder)
        mapped[0] = number
        mapped.flush()
        dataset.commit(folder)
        assert (dataset.open() / "a").read_bytes()[0] == number
        time.sleep(0.1)


def test_an_opened_version_can_be_committed(dataset: Dataset, folder: Path) -> None:
    write(folder, a="1", b__c="2")
    first = dataset.commit(folder)
    write(folder, a="3")
    dataset.commit(folder)
    assert dataset.commit(dataset.open(first.id)).version == first.version
    assert text(dataset) == {"a": "1", "b/c": "2"}


@pytest.mark.parametrize("adopt", [False, True])
def test_a_checkout_with_a_new_file_can_be_committed(
    dataset: Dataset, folder: Path, tmp_path: Path, adopt: bool
) -> None:
    write(folder, a="1")
    dataset.commit(folder)
    work = tmp_path / "work"
    dataset.checkout("main", work)
    work.chmod(0o755)
    write(work, new="2")
    for number in range(2):
        assert dataset.commit(work, adopt=adopt).files == 2, number
    assert text(dataset) == {"a": "1", "new": "2"}
    assert not list(dataset.damaged())


def test_a_file_that_is_written_to_while_it_is_read_is_refused(
    dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, a="1")
    copy = dataset.store.copy

    def written_to(path: Path, source: BinaryIO, *, executable: bool) -> tree.File:
        made = copy(path, source, executable=executable)
        os.utime(path, ns=(1, time.time_ns()))
        return made

    monkeypatch.setattr(dataset.store, "copy", written_to)
    with pytest.raises(Refused, match=r"^'a': changes while it is read; commit once its writer has finished$"):
        dataset.commit(folder)


@pytest.mark.parametrize("more", ["12", "2"])
def test_an_adopted_file_that_is_written_to_while_it_is_read_is_refused(
    dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    """A writer that appends, and one that changes what is there."""
    _written_to_when_adopted(dataset, folder, monkeypatch, [more * number for number in range(1, 9)])
    with pytest.raises(Refused, match=r"^'a': changes while it is read; commit once its writer has finished$"):
        dataset.commit(folder, adopt=True)
    assert not dataset.branches()


def test_an_adopted_file_that_has_changed_is_not_kept_as_its_former_content(
    dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _written_to_when_adopted(dataset, folder, monkeypatch, ["new"])
    dataset.commit(folder, adopt=True)
    assert text(dataset) == {"a": "new"}
    put(dataset, "other", a="old")
    assert text(dataset, "other")["a"] == "old"
    assert not [*dataset.damaged(), *dataset.damaged("other")]


def test_an_adopted_file_whose_content_another_commit_uses_meanwhile_has_not_changed(
    dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as another file of the same content, which is taken at the same time."""
    write(folder, a="1", b="1")
    adopt = dataset.store.adopt

    def used(path: Path, source: BinaryIO, *, executable: bool) -> tree.File:
        made = adopt(path, source, executable=executable)
        assert dataset.store.has("objects", made.digest)
        return made

    monkeypatch.setattr(dataset.store, "adopt", used)
    dataset.commit(folder, adopt=True)
    assert text(dataset) == {"a": "1", "b": "1"}


def _written_to_when_adopted(
    dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch, contents: list[str]
) -> None:
    """File `a` is `old`, and gets these contents in turn: each between a look at its content and at its times."""
    write(folder, a="old")
    adopt = dataset.store.adopt

    def written_to(path: Path, source: BinaryIO, *, executable: bool) -> tree.File:
        made = adopt(path, source, executable=executable)
        if contents:
            mode = path.stat().st_mode
            path.chmod(0o644)  # as for a writer that had opened it before
            with path.open("r+") as writer:
                writer.write(contents.pop(0))
            path.chmod(mode)
            os.utime(path, ns=(1, time.time_ns()))
        return made

    monkeypatch.setattr(dataset.store, "adopt", written_to)


def test_a_folder_with_the_dataset_in_it_is_refused(tmp_path: Path) -> None:
    """Each commit would have the contents of those before, too."""
    write(tmp_path / "photos", a="1")
    (tmp_path / "link").symlink_to(tmp_path / "photos")
    dataset = Dataset(tmp_path / "photos" / "versions" / "raw")
    for folder in (tmp_path / "photos", tmp_path / "link", tmp_path, tmp_path / "photos/versions"):
        folder.mkdir(exist_ok=True)
        with pytest.raises(Refused, match=r"has the dataset .* in it; name a folder that has its files alone"):
            dataset.commit(folder)
    assert not dataset.store.exists
    put(dataset, a="1")
    with pytest.raises(Refused, match=r"has the dataset .* in it"):
        dataset.commit(dataset.store.root)
    assert dataset.commit(dataset.open()).files == 1
