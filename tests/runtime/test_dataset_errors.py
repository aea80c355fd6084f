"""Commits to a dataset that fail: what is refused and in which words, and that nothing is left of them."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import resource
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tensorplane.datasets import Conflict, Dataset, Refused, durable
from tensorplane.datasets import store as store_module
from tensorplane.datasets.retention import Rule, collect_now
from tensorplane.datasets.store import Store
from tensorplane.datasets.tree import File
from tests.runtime.test_dataset import put, text, write


def test_a_commit_that_does_not_fit_leaves_nothing_behind(dataset: Dataset, folder: Path) -> None:
    write(folder, small="1", twin="1")
    with (folder / "large").open("wb") as large:
        large.truncate(4 << 20)
    with _largest_file(1 << 20), pytest.raises(OSError, match="File too large"):
        dataset.commit(folder)
    assert not _contents(dataset)
    (folder / "large").unlink()
    dataset.commit(folder)
    assert text(dataset) == {"small": "1", "twin": "1"}


def test_a_failed_commit_leaves_no_content_that_two_of_its_threads_have_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other thread writes it just after this one has looked, and found nothing."""
    store, others = Store(tmp_path / "dataset"), [b"twin"]
    store.create()

    with pytest.raises(ZeroDivisionError), store.attempt() as attempt:

        def look(path: Path, found: Callable[[Path], int] = store_module._time_ns) -> int:
            if others:
                attempt.put(others.pop())
                raise FileNotFoundError(path)
            return found(path)

        def has(kind: str, name: str, found: Callable[[str, str], bool] = attempt.has) -> bool:
            if others:
                attempt.put(others.pop())
            return found(kind, name)

        monkeypatch.setattr(store_module, "_time_ns", look)
        monkeypatch.setattr(attempt, "has", has)
        attempt.put(b"twin")
        assert list(attempt.names("trees"))
        raise ZeroDivisionError
    assert list(store.names("trees")) == []


def test_a_commit_that_is_refused_leaves_only_what_another_one_uses(dataset: Dataset, folder: Path) -> None:
    def refuse(found: Iterable[tuple[str, Path]]) -> None:
        put(dataset, theirs="2")
        raise Refused("not so")

    write(folder, a="1", b="2")
    before = _contents(dataset)
    with pytest.raises(Refused, match="not so"):
        dataset.commit(folder, check=refuse)
    assert text(dataset) == {"theirs": "2"}
    assert {path.read_text() for path in _contents(dataset) - before if "objects" in path.parts} == {"2"}
    dataset.commit(folder, whole=True)
    assert text(dataset) == {"a": "1", "b": "2"}


def test_a_failed_commit_leaves_a_content_that_another_has_named_meanwhile(
    dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one names and publishes it while this one waits for the disk, before it names its own copy."""
    waiting, fsync = [True], os.fsync

    def meanwhile(opened: int) -> None:
        fsync(opened)
        if waiting and stat.S_ISREG(os.fstat(opened).st_mode):
            waiting.clear()
            put(dataset, theirs="same")

    def refuse(found: Iterable[tuple[str, Path]]) -> None:
        raise Refused("not so")

    monkeypatch.setattr(os, "fsync", meanwhile)
    write(folder, ours="same")
    with pytest.raises(Refused, match="not so"):
        dataset.commit(folder, check=refuse)
    assert text(dataset) == {"theirs": "same"}


@contextlib.contextmanager
def _largest_file(size: int) -> Iterator[None]:
    """A volume without room, as far as one process can have it: the system cuts the write and then refuses it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _contents(dataset: Dataset) -> set[Path]:
    """Files of the dataset, but for what is known of folders."""
    folders = (dataset.store.root / name for name in ("objects", "trees", "commits", "branches", "tmp", "trash"))
    return {path for folder in folders for path in folder.rglob("*") if path.is_file()}


def test_what_a_killed_commit_has_left_is_deleted_now_and_nothing_else(dataset: Dataset, folder: Path) -> None:
    first = put(dataset, a="1")
    opened = dataset.open(first)
    put(dataset, a="2")
    before = _contents(dataset)
    left = dataset.content(dataset.keep(io.BytesIO(b"of a commit that was killed")))
    part = dataset.store.parts / "0123456789abcdef"
    part.write_text("a copy")
    os.utime(part, (1, 1))
    assert sum(dataset.collect(Rule()).values()) == len("a copy"), "the other is not old enough"
    deleted = collect_now(dataset.store, Rule(), pause=lambda seconds: None)
    assert deleted == {"objects": 1, "trees": 0, "commits": 0, "versions": 0, "bytes": 27}
    assert not left.exists()
    assert _contents(dataset) == before
    collect_now(dataset.store, Rule(last=1), pause=lambda seconds: None)
    assert (opened / "a").read_text() == "1", "it was opened in the last day"
    with pytest.raises(Refused, match="deleted by the retention"):
        dataset.files(first)


def test_a_commit_during_a_collection_keeps_its_files(
    dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collection begins after the commit has marked what it uses, and looks before the commit is the newest."""
    write(folder, a="1", b__c="2")
    sync, begin, began = Store.sync, Store.begin_collection, list[int]()

    def marked_long_ago(store: Store) -> None:
        if not began:
            for path in (each for each in _contents(dataset) if "commits" not in each.parts):
                os.utime(path, (1, 1))
            began.append(begin(store))
        sync(store)

    monkeypatch.setattr(Store, "sync", marked_long_ago)
    monkeypatch.setattr(Store, "begin_collection", lambda store: began[0])
    create = durable.create

    def collected_first(path: Path, data: bytes, parts: Path) -> bool:
        collect_now(dataset.store, Rule(), pause=lambda seconds: None)
        return create(path, data, parts)

    monkeypatch.setattr(durable, "create", collected_first)
    dataset.commit(folder)
    assert text(dataset) == {"a": "1", "b/c": "2"}


def test_files_that_cannot_be_read_are_named_together() -> None:
    """As another user than root, who may read everything."""
    with unprivileged() as place:
        dataset, folder = Dataset(place / "dataset"), place / "folder"
        folder.mkdir()
        write(folder, a="1", b__c="2", d="3")
        (folder / "a").chmod(0)
        (folder / "d").chmod(0o200)
        user = os.geteuid()
        with pytest.raises(Refused) as refused:
            dataset.commit(folder)
        assert str(refused.value).splitlines() == [
            f"'a': cannot be read by user {user} (mode 000 of user {user}); let its writer make it readable",
            f"'d': cannot be read by user {user} (mode 200 of user {user}); let its writer make it readable",
        ]
        (folder / "b").chmod(0)
        with pytest.raises(Refused, match=rf"^'b/': cannot be read by user {user} \(mode 000 of user {user}\)"):
            dataset.commit(folder)
        (folder / "b").chmod(0o755)


@pytest.mark.parametrize("hidden", ["branches", "labels", "runs"])
def test_a_collection_deletes_nothing_where_it_cannot_list_what_is_needed(hidden: str) -> None:
    with unprivileged() as place:
        dataset = Dataset(place / "raw")
        put(dataset, a="1")
        (dataset.store.root / "runs").mkdir()
        (dataset.store.root / hidden).chmod(0o300)
        with pytest.raises(PermissionError, match=hidden):
            dataset.collect(Rule(last=1), grace_seconds=0)
        (dataset.store.root / hidden).chmod(0o755)
        assert text(dataset) == {"a": "1"}


@contextlib.contextmanager
def unprivileged() -> Iterator[Path]:
    """A folder of a user who is not root."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:  # that of the tests is root's
        user = os.geteuid()
        if user == 0:
            os.chown(made, 65534, 65534)
            os.seteuid(65534)
        try:
            yield Path(made)
        finally:
            os.seteuid(user)


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_version_that_was_never_opened_says_so_where_nothing_can_be_written(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    version = dataset.resolve(put(dataset, a="1")).version

    def refused(change: Callable[..., None]) -> Callable[..., None]:
        def changed(path: Path, *given: object, **more: object) -> None:
            if path.is_relative_to(dataset.store.parts):
                raise OSError(code, os.strerror(code), str(path))
            change(path, *given, **more)

        return changed

    monkeypatch.setattr(Path, "mkdir", refused(Path.mkdir))
    monkeypatch.setattr(Path, "unlink", refused(Path.unlink))
    problem = f"was not opened yet, and {dataset.store.root} cannot be written to here ({os.strerror(code)})"
    with pytest.raises(Refused) as caught:
        dataset.open()
    assert str(caught.value) == f"{version[:12]}: {problem}; open it once where the volume is mounted for writing"
    monkeypatch.undo()
    assert text(dataset) == {"a": "1"}


@pytest.mark.parametrize("path", ["\udcff", "a/\udcff/b"])
def test_a_name_that_is_no_text_is_refused(dataset: Dataset, path: str) -> None:
    with pytest.raises(Refused, match=r"udcff.*: its name is not UTF-8; rename it$"):
        dataset.put({path: dataset.keep(io.BytesIO(b"1"))})


def test_a_path_that_no_reader_could_have_is_refused_in_a_short_line(dataset: Dataset, folder: Path) -> None:
    path = "/".join(f"{number:02}".ljust(80, "x") for number in range(60))
    file = dataset.keep(io.BytesIO(b"1"))
    expected = r"has 4,859 bytes, more than 3,584; use shorter names$"
    with pytest.raises(Refused, match=expected) as refused:
        dataset.put({path: file})
    assert len(str(refused.value)) < 200
    put(dataset, a="1")
    before = Path.cwd()
    try:
        os.chdir(folder)
        for name in path.split("/"):
            Path(name).mkdir()
            os.chdir(name)
        Path("file").write_text("1")
    finally:
        os.chdir(before)
    with pytest.raises(Refused, match=r"^'00x+…x+': its path has 3,6\d\d bytes, more than 3,584; use shorter names$"):
        dataset.commit(folder)
    subprocess.run(["rm", "-r", str(folder)], check=True)  # Python's own way down is as long as the path


@pytest.mark.parametrize("path", ["é" * 128, f"a/{'名' * 86}/b"], ids=["file", "folder"])
def test_a_name_that_linux_has_no_room_for_is_refused(dataset: Dataset, path: str) -> None:
    expected = r": has a name of 25[68] bytes, more than 255; use a shorter one$"
    with pytest.raises(Refused, match=expected):
        dataset.put({path: dataset.keep(io.BytesIO(b"1"))})
    dataset.put({"é" * 127: dataset.keep(io.BytesIO(b"1")), path: None})
    assert (dataset.open() / ("é" * 127)).read_text() == "1"


def test_of_many_faults_the_first_are_told(dataset: Dataset, folder: Path) -> None:
    for number in range(30):
        (folder / f"{number:02}").symlink_to("a")
    with pytest.raises(Refused) as refused:
        dataset.commit(folder)
    lines = str(refused.value).splitlines()
    assert lines[0].startswith("'00': is a symbolic link;")
    assert (len(lines), lines[-1]) == (11, "and 20 more")


def test_a_commit_that_makes_a_file_and_a_folder_of_one_name_does_not_blame_another(dataset: Dataset) -> None:
    expected = r"^'x': would be a file and a folder; rename one, or remove what is there$"
    with pytest.raises(Refused, match=expected):
        put(dataset, x="1", x__y="2")
    first = put(dataset, x="1")
    with pytest.raises(Refused, match=expected):
        put(dataset, x__y="2")
    put(dataset, x=None, x__y="2")
    with pytest.raises(Conflict, match=r"^'x': changed by another commit too; get the new version, and commit again$"):
        put(dataset, base=first, x="5")


def test_a_commit_looks_for_a_collection_in_a_file_that_is_there(dataset: Dataset) -> None:
    """A client of NFS would remember that it is not, and would not see the first collection."""
    put(dataset, a="1")
    moment = dataset.store.last_collection()
    assert (dataset.store.root / "collecting").stat().st_mtime_ns == moment == dataset.store.last_collection()
    assert dataset.store.begin_collection() > moment


def test_a_collection_leaves_a_version_that_is_being_opened(
    dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes more than a minute, in which no name appears directly in its folder."""
    write(folder, a__b="1", a__c="2")
    dataset.commit(folder)
    link = Store.link

    def collected_first(store: Store, file: File, target: Path) -> None:
        link(store, file, target)
        (part,) = store.parts.iterdir()
        os.utime(part, (time.time() - 120,) * 2)
        collect_now(store, Rule(), pause=lambda seconds: None)

    monkeypatch.setattr(Store, "link", collected_first)
    opened = dataset.open()
    assert [(opened / "a" / name).read_text() for name in "bc"] == ["1", "2"]


def test_a_collection_leaves_a_file_that_is_being_adopted(
    dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the time of its owner's name, however long ago that is."""
    write(folder, a="1")
    os.utime(folder / "a", (1, 1))
    is_kept, collected = Store._is_kept, list[dict[str, int]]()

    def collected_first(store: Store, kind: str, name: str) -> bool:
        if kind == "objects":
            collected.append(dataset.collect(Rule()))
            collected.append(collect_now(dataset.store, Rule(), pause=lambda seconds: None))
        return is_kept(store, kind, name)

    monkeypatch.setattr(Store, "_is_kept", collected_first)
    dataset.commit(folder, adopt=True)
    assert text(dataset) == {"a": "1"}
    assert [each["bytes"] for each in collected] == [0, 0]


def test_a_version_that_is_opened_while_it_is_deleted_is_whole_or_gone(
    dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, a="1", b="2")
    first = dataset.commit(folder)
    opened = dataset.open(first.id)
    put(dataset, a="3")
    unlink, again = Path.unlink, list[Path]()

    def opened_first(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        if path.name == "b" and not again:
            again.append(path)
            assert dataset.open(first.id) == opened

    monkeypatch.setattr(Path, "unlink", opened_first)
    os.utime(opened, (1, 1))
    assert dataset.collect(Rule(last=1))["versions"] == 1
    assert again
    assert sorted(path.name for path in opened.iterdir()) == ["a", "b"]


def test_a_collection_counts_what_the_volume_has_again(dataset: Dataset, folder: Path) -> None:
    """A file that was adopted is its owner's, too, and one of a version that is open stays there."""
    write(folder, a="12345")
    first = dataset.commit(folder, adopt=True)
    put(dataset, a="3")
    for path in _contents(dataset):
        if {"objects", "trees"} & set(path.parts):
            os.utime(path, (1, 1))
    nodes = dataset.store.path("trees", first.version).stat().st_size
    deleted = dataset.collect(Rule(last=1))
    assert not dataset.content(File(hashlib.sha256(b"12345").hexdigest(), 5, False)).exists()
    assert (folder / "a").read_text() == "12345"
    assert deleted["objects"] == 1
    assert deleted["bytes"] == nodes
    write(folder, a="1234567", twin="1234567")
    opened = dataset.open(dataset.commit(folder, whole=True).id)
    put(dataset, a="3", twin=None)
    os.utime(opened, (1, 1))
    for path in _contents(dataset):
        if "objects" in path.parts:
            os.utime(path, (1, 1))
    deleted = dataset.collect(Rule(last=1))
    assert (deleted["versions"], deleted["objects"], deleted["bytes"]) == (1, 1, 7)


def test_what_a_commit_that_another_one_forestalls_has_left_is_deleted_now(
    dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has marked its files as used, so whether the other one uses them does not show: it must not remove them."""
    put(dataset, a="1", b="2")
    write(folder, a="ours", b="same")
    create, is_first = durable.create, [True]

    def forestalled(path: Path, data: bytes, parts: Path) -> bool:
        if is_first:
            is_first.clear()
            put(dataset, a="theirs", b="same")
        return create(path, data, parts)

    monkeypatch.setattr(durable, "create", forestalled)
    with pytest.raises(Conflict):
        dataset.commit(folder)
    assert text(dataset) == {"a": "theirs", "b": "same"}
    collect_now(dataset.store, Rule(), pause=lambda seconds: None)
    contents = {path.read_text() for path in _contents(dataset) if "objects" in path.parts}
    assert contents == {"1", "2", "theirs", "same"}
