"""A dataset on a folder: commits, merges, references, plain files, retention; the model has random operations."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO

import pytest

from tensorplane.agents.triggers.commits import Log
from tensorplane.datasets import Conflict, Dataset, Note, Refused, durable, tree
from tensorplane.datasets.retention import Rule
from tests.runtime.launching import IN_PODS, PROJECT

PINNED = "6edf45bd440365dd14cf13b29c33d1440054b42d290738d040589a56edca881a"
"""Version of two small files: other machines and later releases must give the same id."""


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def text(dataset: Dataset, reference: str = "main") -> dict[str, str]:
    folder = dataset.open(reference)
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def put(dataset: Dataset, branch: str = "main", base: str | None = None, **files: str | None) -> str:
    changes = {
        name.replace("__", "/"): None if content is None else dataset.keep(io.BytesIO(content.encode()))
        for name, content in files.items()
    }
    return dataset.put(changes, branch=branch, base=base).id


def test_a_version_is_plain_read_only_files(dataset: Dataset, folder: Path) -> None:
    write(folder, a="1", b__c__d="2")
    (folder / "run").write_text("#!/bin/sh")
    (folder / "run").chmod(0o755)
    made = dataset.commit(folder, note=Note("first", "ann"))
    assert text(dataset) == {"a": "1", "b/c/d": "2", "run": "#!/bin/sh"}
    opened = dataset.open(made.version[:8])
    assert opened == dataset.open("main")
    assert (opened / "a").stat().st_mode & 0o777 == 0o444
    assert (opened / "run").stat().st_mode & 0o777 == 0o555
    assert opened.stat().st_mode & 0o777 == 0o555
    assert (made.message, made.author, made.files, made.size) == ("first", "ann", 3, 11)
    assert made.changed == {"added": 3, "changed": 0, "removed": 0, "bytes": 11}


def test_same_files_have_the_same_version_whoever_commits_them(tmp_path: Path, folder: Path) -> None:
    write(folder, a="1", b__c="2")
    one, other = Dataset(tmp_path / "one"), Dataset(tmp_path / "other")
    first = one.commit(folder, note=Note("x"))
    put(other, b__c="wrong", z="3")
    put(other, b__c="2", z=None)
    put(other, a="1")
    assert other.resolve().version == first.version == one.resolve().version
    assert first.version == PINNED


def test_nothing_new_is_no_commit_unless_its_provenance_is(dataset: Dataset, folder: Path) -> None:
    write(folder, a="1")
    first = dataset.commit(folder)
    assert dataset.commit(folder, note=Note("again")) == first
    made = dataset.commit(folder, note=Note(provenance={"inputs": [{"dataset": "raw", "version": "0"}]}))
    assert made.version == first.version
    assert made.parents == [first.id]
    assert dataset.commit(folder, note=Note(provenance=made.provenance)) == made


def test_only_changed_files_are_read_again(dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, a="1", b="2", gone="3")
    time.sleep(0.2)  # files of this instant would count as unknown
    dataset.commit(folder)
    write(folder, b="4")
    (folder / "gone").unlink()
    read: list[str] = []
    copy = dataset.store.copy

    def noted(path: Path, source: BinaryIO, *, executable: bool) -> tree.File:
        read.append(path.name)
        return copy(path, source, executable=executable)

    monkeypatch.setattr(dataset.store, "copy", noted)
    made = dataset.commit(folder)
    assert read == ["b"]
    assert made.changed == {"added": 0, "changed": 1, "removed": 1, "bytes": 1}
    assert text(dataset) == {"a": "1", "b": "4"}


def test_a_file_of_the_same_size_and_time_that_was_written_again_is_read(dataset: Dataset, folder: Path) -> None:
    for number in range(20):
        write(folder, a=f"{number % 10}")
        os.utime(folder / "a", (1, 1))
        dataset.commit(folder)
        assert text(dataset) == {"a": f"{number % 10}"}


def test_two_committers_lose_nothing(dataset: Dataset) -> None:
    base = put(dataset, a="1", b="1", c="1")
    put(dataset, base=base, a="2")
    put(dataset, base=base, b="2", c=None)
    assert text(dataset) == {"a": "2", "b": "2"}
    with pytest.raises(Conflict, match="'a': changed by another commit too; get the new version, and commit again"):
        put(dataset, base=base, a="3", d="1")
    assert text(dataset) == {"a": "2", "b": "2"}
    assert put(dataset, base=base, a="2") == dataset.resolve().id  # both made the same change


def test_a_folder_replaces_what_it_was_made_from_and_keeps_what_others_added(dataset: Dataset, folder: Path) -> None:
    write(folder, a="1", b="1")
    first = dataset.commit(folder)
    put(dataset, c="other")
    (folder / "b").unlink()
    dataset.commit(folder, base=first.id)
    assert text(dataset) == {"a": "1", "c": "other"}
    dataset.commit(folder, base=first.id, whole=True)
    assert text(dataset) == {"a": "1"}


def test_the_later_commit_wins_where_that_is_declared(dataset: Dataset) -> None:
    base = put(dataset, a="1")
    put(dataset, a="2")
    dataset.put({"a": dataset.keep(io.BytesIO(b"3"))}, base=base, ours_win=True)
    assert text(dataset) == {"a": "3"}


def test_a_path_is_a_file_or_a_folder(dataset: Dataset) -> None:
    put(dataset, a="1")
    with pytest.raises(Conflict):
        put(dataset, a__b="2")
    put(dataset, a=None, a__b="2")
    assert text(dataset) == {"a/b": "2"}
    with pytest.raises(Conflict):
        put(dataset, a="1")
    for path in ("../x", "/x", "a//b", ".", ""):
        with pytest.raises(Refused, match="is no path of a file"):
            dataset.put({path: None})


def test_what_is_no_regular_file_is_refused_all_at_once(dataset: Dataset, folder: Path) -> None:
    write(folder, a="1")
    (folder / "link").symlink_to("a")
    os.mkfifo(folder / "pipe")
    with pytest.raises(Refused) as caught:
        dataset.commit(folder)
    assert str(caught.value).splitlines() == [
        "'link': is a symbolic link; a dataset holds files, so put the file in its place",
        "'pipe': is neither a file nor a folder; remove it",
    ]


def test_references(dataset: Dataset) -> None:
    first, second = put(dataset, a="1"), put(dataset, a="2")
    dataset.branch("dev", "main~1")
    dataset.label("good", first)
    for reference in ("main~1", "dev", "good", first, first[:9], dataset.resolve(first).version[:9]):
        assert dataset.resolve(reference).id == first
    assert [made.id for made in dataset.log()] == [second, first]
    assert [number for number, _ in dataset.since("main", 1)] == [2]
    put(dataset, "dev", b="1")
    assert {name: made.files for name, made in dataset.branches().items()} == {"main": 1, "dev": 2}
    for reference, reason in {"nothing": "choose one of dev, good, main", "main~2": "has only 2 commits"}.items():
        with pytest.raises(Refused, match=reason):
            dataset.resolve(reference)
    with pytest.raises(Refused, match="the branch exists"):
        dataset.branch("dev")
    with pytest.raises(Refused, match="is the label of another commit"):
        dataset.label("good", second)
    dataset.label("good", second, move=True)
    assert dataset.labels()["good"].id == second
    dataset.unlabel("good")
    dataset.delete_branch("dev")
    assert (dataset.labels(), [*dataset.branches()]) == ({}, ["main"])


def test_rollback_is_a_commit_of_the_earlier_version(dataset: Dataset) -> None:
    first, second = put(dataset, a="1"), put(dataset, a="2", b="1")
    made = dataset.rollback(first)
    assert (made.version, made.parents, made.message) == (
        dataset.resolve(first).version,
        [second],
        f"rollback to {first[:12]}",
    )
    assert text(dataset) == {"a": "1"}
    assert [(path, bool(old), bool(new)) for path, old, new in dataset.diff("main~1")] == [
        ("a", True, True),
        ("b", True, False),
    ]


def test_rollback_says_where_the_files_come_from_and_that_no_program_made_it(dataset: Dataset) -> None:
    """A run or a place in a stream of its own would make triggers and recorders go back, too."""
    made = {"run": "words-1", "stream": {"topic": "t"}, "inputs": [{"dataset": "raw", "version": "0"}]}
    first = dataset.put({"a": dataset.keep(io.BytesIO(b"1"))}, note=Note(provenance=made))
    second = put(dataset, a="2")
    expected = {"inputs": made["inputs"], "rollback": {"commit": first.id, "provenance": made}}
    rolled_back = dataset.rollback(first.id)
    assert rolled_back.provenance == expected
    dataset.rollback(second)
    assert dataset.resolve().provenance == {"rollback": {"commit": second, "provenance": {}}}
    assert dataset.rollback(rolled_back.id).provenance == expected, "where they come from in the first place"
    assert dataset.rollback("main").provenance == expected
    assert len(list(dataset.log())) == 5


def test_rollback_says_where_files_come_from_whatever_a_program_wrote_there(dataset: Dataset) -> None:
    first = dataset.put({"a": dataset.keep(io.BytesIO(b"1"))}, note=Note(provenance={"rollback": "never"}))
    put(dataset, a="2")
    expected = {"rollback": {"commit": first.id, "provenance": {"rollback": "never"}}}
    assert dataset.rollback(first.id).provenance == expected


def test_rollback_moves_a_branch_to_the_newest_version_of_another(dataset: Dataset) -> None:
    put(dataset, a="1")
    dataset.branch("ready")
    put(dataset, a="2", b="1")
    assert text(dataset, "ready") == {"a": "1"}
    made = dataset.rollback("main", branch="ready")
    assert (made.version, text(dataset, "ready")) == (dataset.resolve("main").version, {"a": "2", "b": "1"})
    assert [each.id for each in dataset.log("ready")][:1] == [made.id]
    assert dataset.rollback("main", branch="ready").id == made.id


def test_checkout_of_some_paths(dataset: Dataset, tmp_path: Path) -> None:
    put(dataset, a="1", b__c="2", b__d="3", e="4")
    dataset.checkout("main", tmp_path / "some", only=["a", "b"])
    assert sorted(str(path.relative_to(tmp_path / "some")) for path in (tmp_path / "some").rglob("*")) == [
        "a",
        "b",
        "b/c",
        "b/d",
    ]
    with pytest.raises(Refused, match="exists; name a new folder"):
        dataset.checkout("main", tmp_path / "some")
    with pytest.raises(Refused, match="has no such file or folder"):
        dataset.checkout("main", tmp_path / "other", only=["a", "z"])
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("only", [["/a", "b/"], ["b/c", "b", "a", "a"], ["a", ""], ["/"], ["b//c", "//b", "a/"]])
def test_a_checkout_has_each_file_once_and_inside_its_folder(dataset: Dataset, tmp_path: Path, only: list[str]) -> None:
    put(dataset, a="1", b__c="2")
    dataset.checkout("main", tmp_path / "some", only=only)
    found = (path for path in (tmp_path / "some").rglob("*") if path.is_file())
    assert {str(path.relative_to(tmp_path / "some")): path.read_text() for path in found} == {"a": "1", "b/c": "2"}


def test_adopted_files_are_the_dataset_s_own(dataset: Dataset, folder: Path) -> None:
    write(folder, a="1")
    dataset.commit(folder, adopt=True)
    assert (folder / "a").stat().st_nlink == 2
    assert (folder / "a").stat().st_mode & 0o777 == 0o444
    assert (dataset.open() / "a").samefile(folder / "a")


def test_retention_keeps_what_is_needed_and_deletes_the_rest(dataset: Dataset) -> None:
    commits = [put(dataset, a=f"{number}", same="same") for number in range(8)]
    dataset.label("kept", commits[1])
    dataset.label("lease", commits[2], seconds=10**6)
    dataset.label("ended", commits[3], seconds=1e-9)
    used = dataset.resolve(commits[4]).version
    opened = dataset.open(commits[5])
    deleted = dataset.collect(Rule(last=2), used=[used], grace_seconds=0)
    size = deleted.pop("bytes")
    assert deleted == {"objects": 3, "trees": 3, "commits": 0, "versions": 1}
    assert 3 < size < 1000, "three characters, and nodes with the names of two files each"
    assert not opened.exists()
    for number, each in enumerate(commits):
        if number in (0, 3, 5):
            with pytest.raises(Refused, match="deleted by the retention"):
                dataset.open(each)
        else:
            assert text(dataset, each) == {"a": f"{number}", "same": "same"}
    assert len(list(dataset.log())) == 8  # history stays
    put(dataset, a="0")  # contents that were deleted come back
    assert text(dataset) == {"a": "0", "same": "same"}


def test_a_folder_whose_former_version_was_deleted_is_read_again(dataset: Dataset, folder: Path) -> None:
    write(folder, a="1", b="2")
    dataset.commit(folder, branch="dev")
    time.sleep(0.2)
    dataset.commit(folder, branch="dev")
    put(dataset, c="3")
    for name in ("a", "b"):
        dataset.content(dataset.files("dev")[name]).unlink()  # as retention may, while the tree was just used
    dataset.delete_branch("dev")
    dataset.commit(folder, branch="other")
    assert text(dataset, "other") == {"a": "1", "b": "2"}


def test_a_branch_that_is_deleted_during_a_commit_takes_nothing(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(dataset, a="1")
    put(dataset, a="2")
    create = durable.create

    def late(path: Path, data: bytes, parts: Path) -> bool:
        if path.name == "0000000003":
            monkeypatch.undo()
            dataset.delete_branch("main")
            put(dataset, new="1")
        return create(path, data, parts)

    monkeypatch.setattr(durable, "create", late)
    with pytest.raises(Refused, match="main: the branch was deleted meanwhile; commit again"):
        put(dataset, a="3")
    put(dataset, new="2")
    put(dataset, new="3")
    assert [made.changed["added"] for made in dataset.log()] == [0, 0, 1]


def test_retention_spares_what_was_used_lately(dataset: Dataset) -> None:
    first = put(dataset, a="1")
    put(dataset, a="2")
    assert sum(dataset.collect(Rule(last=1)).values()) == 0
    assert text(dataset, first) == {"a": "1"}


@pytest.mark.parametrize("near", ["3", "-1", "x", ""])
def test_a_copied_folder_with_a_number_of_a_commit_that_it_lacks_goes_on(dataset: Dataset, near: str) -> None:
    first = put(dataset, a="1")
    put(dataset, a="2")
    branch = dataset.store.root / "branches" / "main"
    (branch / "0000000002").unlink()
    (branch / "near").write_text(near)
    assert [made.id for made in dataset.log()] == [first]
    head = Log(dataset.store.root, "main").head()
    assert head is not None
    assert (head.number, head.commit) == (1, first)
    third = put(dataset, a="3")
    assert [made.id for made in dataset.log()] == [third, first]


def test_damage_is_found(dataset: Dataset) -> None:
    put(dataset, a="1", b="2")
    blob = dataset.content(dataset.files()["a"])
    blob.chmod(0o644)
    blob.write_text("x")
    dataset.content(dataset.files()["b"]).unlink()
    assert list(dataset.damaged()) == ["a", "b"]


@pytest.mark.parametrize("count", [tree.LEAF, tree.LEAF + 1, 5000])
def test_a_change_in_a_large_folder_writes_little(dataset: Dataset, count: int) -> None:
    file = dataset.keep(io.BytesIO(b"x"))
    dataset.put({f"f{number}": file for number in range(count)})
    before = {*dataset.store.names("trees")}
    dataset.put({"f7": dataset.keep(io.BytesIO(b"y"))})
    new = {*dataset.store.names("trees")} - before
    written = sum(dataset.store.path("trees", node).stat().st_size for node in new)
    assert (len(new), written < 40_000) == ((1, True) if count <= tree.LEAF else (len(new), True))
    assert len(new) <= 4
    assert [path for path, _, _ in dataset.diff("main~1")] == ["f7"]
    dataset.put({f"f{number}": None for number in range(count)})
    assert (dataset.resolve().files, dataset.resolve().size) == (0, 0)


def test_the_documented_program_runs(tmp_path: Path) -> None:
    (program,) = re.findall(r"(?ms)^```python\n(.*?)^```", (PROJECT / "docs" / "datasets.md").read_text())
    here = program.replace("/data", str(tmp_path))
    argv = [sys.executable, "-c", here]
    done = subprocess.run(argv, capture_output=True, text=True, env={"PYTHONPATH": IN_PODS})
    assert (done.stdout, done.stderr) == ("1 a cat\n['cats/1.txt']\n", "")
