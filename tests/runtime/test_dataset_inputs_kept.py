"""Retention keeps the versions that kept versions of other datasets were made from, wherever they are named."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest

from tensorplane import provenance
from tensorplane.datasets import Dataset, Note, Refused, __main__, requests
from tensorplane.datasets.retention import Rule, used_by
from tensorplane.datasets.store import Store
from tests.runtime.test_dataset import put, text
from tests.runtime.test_dataset_errors import unprivileged


@pytest.fixture
def raw(tmp_path: Path) -> Dataset:
    """A dataset with one version."""
    made = Dataset(tmp_path / "datasets" / "raw")
    put(made, a="1")
    return made


def _derived(raw: Dataset, reference: str = "main", *, branch: str = "main", name: str = "raw") -> Dataset:
    """A dataset in the same folder with a version that was made from this one."""
    source, made = raw.resolve(reference), Dataset(raw.store.root.parent / "derived")
    note = Note(provenance={"inputs": [{"dataset": name, "version": source.version, "commit": source.id}]})
    made.put({"b": made.keep(io.BytesIO(b"2"))}, branch=branch, note=note)
    return made


def test_an_input_of_the_newest_version_stays_without_being_named(raw: Dataset) -> None:
    first = raw.resolve()
    derived = _derived(raw)
    put(raw, a="2")
    raw.collect(Rule(last=1), grace_seconds=0)
    assert text(raw, first.id) == {"a": "1"}
    put(derived, b="3")
    derived.collect(Rule(last=1), grace_seconds=0)
    assert used_by([derived.store]) == set()
    raw.collect(Rule(last=1), grace_seconds=0)
    with pytest.raises(Refused, match="deleted by the retention"):
        raw.files(first.id)


def test_an_input_of_a_dataset_elsewhere_stays(raw: Dataset, tmp_path: Path) -> None:
    first = raw.resolve()
    elsewhere = tmp_path / "team" / "derived"
    elsewhere.parent.mkdir()
    _derived(raw).store.root.rename(elsewhere)
    put(raw, a="2")
    raw.collect(Rule(last=1), others=[elsewhere], grace_seconds=0)
    assert text(raw, first.id) == {"a": "1"}


@pytest.mark.parametrize("inputs", [None, 3, "raw", [["raw", "1"]], {"raw": "1"}])
def test_inputs_in_another_form_name_no_version(raw: Dataset, inputs: object) -> None:
    derived = Dataset(raw.store.root.parent / "derived")
    derived.put({"b": derived.keep(io.BytesIO(b"2"))}, note=Note(provenance={"inputs": inputs}))
    put(raw, a="2")
    assert raw.collect(Rule(last=1), grace_seconds=0)["objects"] == 1


def test_an_input_of_a_version_that_only_a_label_keeps_stays(raw: Dataset) -> None:
    first = raw.resolve()
    put(Dataset(raw.store.root.parent / "derived"), b="0")
    derived = _derived(raw, branch="try")
    derived.label("paper", "try")
    derived.delete_branch("try")
    put(raw, a="2")
    raw.collect(Rule(last=1), grace_seconds=0)
    assert text(raw, first.id) == {"a": "1"}


def test_an_input_of_a_branch_that_was_deleted_since_stays_with_its_commit(raw: Dataset) -> None:
    raw.branch("try")
    older, newer = put(raw, "try", a="2"), put(raw, "try", a="3")
    version = raw.resolve(newer).version
    _derived(raw, "try")
    raw.delete_branch("try")
    raw.collect(Rule(), grace_seconds=0)
    assert text(raw, version) == {"a": "3"}
    assert [made.id for made in raw.log(newer)][:2] == [newer, older]
    found = provenance.of(raw.store.root, version)
    assert (found["commit"]["id"], found["kept"]) == (newer, True)
    with pytest.raises(Refused, match="deleted by the retention"):
        raw.files(older)


def test_an_input_of_an_input_that_no_branch_has_stays(raw: Dataset) -> None:
    first = raw.resolve()
    middle = _derived(raw, branch="try")
    source = middle.resolve("try")
    last = Dataset(raw.store.root.parent / "last")
    note = Note(provenance={"inputs": [{"dataset": "derived", "version": source.version}]})
    last.put({"c": last.keep(io.BytesIO(b"3"))}, note=note)
    put(middle, b="other")
    middle.delete_branch("try")
    put(raw, a="2")
    for each in (last, middle, raw):
        each.collect(Rule(last=1), grace_seconds=0)
    assert text(middle, source.version) == {"b": "2"}
    assert text(raw, first.id) == {"a": "1"}


def test_an_input_stays_whatever_its_dataset_is_called_now(raw: Dataset) -> None:
    first = raw.resolve()
    derived = _derived(raw, name="photos")
    put(raw, a="2")
    answer = io.BytesIO()
    asked = b'{"dataset": "raw", "retention": {"last": 1}, "others": ["%s"]}\n' % bytes(derived.store.root)
    for path in [*raw.store.root.rglob("*")]:
        os.utime(path, (1, 1))
    __main__.main("collect", str(raw.store.root), io.BytesIO(asked), answer)
    assert text(raw, first.id) == {"a": "1"}


def test_a_history_that_was_cut_is_no_obstacle(raw: Dataset) -> None:
    """Of a deleted branch, an older tensorplane has deleted the commits before the one that is used."""
    raw.branch("try")
    older, newer = put(raw, "try", a="2"), put(raw, "try", a="3")
    _derived(raw, "try")
    raw.delete_branch("try")
    raw.store.path("commits", older).unlink()
    raw.collect(Rule(), grace_seconds=0)
    assert text(raw, newer) == {"a": "3"}
    raw.label("used", newer)
    raw.collect(Rule(), grace_seconds=0)
    assert raw.resolve(raw.resolve("used").version[:9]).id == newer


def test_an_input_that_is_no_version_is_passed_over(raw: Dataset) -> None:
    derived = Dataset(raw.store.root.parent / "derived")
    note = Note(provenance={"inputs": ["a folder", {"model": "data:/m", "version": 3}, {"dataset": "raw"}]})
    derived.put({"b": derived.keep(io.BytesIO(b"2"))}, note=note)
    assert used_by([derived.store]) == {"3"}


def test_a_collection_reads_each_commit_a_few_times_however_many_are_used(
    raw: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 20
    for number in range(count):
        put(raw, a=f"{number}")
        derived = _derived(raw)
        put(derived, b=f"{number}")
    read, commit = list[str](), Store.commit

    def noted(store: Store, name: str) -> bytes:
        read.append(name)
        return commit(store, name)

    monkeypatch.setattr(Store, "commit", noted)
    raw.collect(Rule(last=1), grace_seconds=0)
    assert len(read) < 6 * count, "one pass over the dataset's commits, and one over those of the other"


@pytest.mark.parametrize("hidden", [".", "commits", "commits/??", "trees/??"])
def test_what_a_dataset_that_cannot_be_read_was_made_from_stays(
    hidden: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with unprivileged() as place:
        raw, derived = Dataset(place / "raw"), Dataset(place / "derived")
        (place / "lost+found").mkdir(0)
        first = put(raw, a="1")
        inputs = [{"dataset": "raw", "version": raw.resolve(first).version}]
        derived.put({"b": derived.keep(io.BytesIO(b"2"))}, note=Note(provenance={"inputs": inputs}))
        put(raw, a="2")
        (folder,) = derived.store.root.glob(hidden) if hidden != "." else [derived.store.root]
        folder.chmod(0)
        problem = rf"^{derived.store.root}: cannot be read by user {os.geteuid()} \(.*Permission denied\), and may need"
        with pytest.raises(Refused, match=problem):
            raw.collect(Rule(last=1), grace_seconds=0)
        requests.collect_if_due(raw, {"retention": {"last": 1}})
        said = capsys.readouterr().err
        assert re.match(rf"^raw: retention was not applied: {problem[1:]}.*; let that user read it\n$", said)
        folder.chmod(0o755)
        raw.collect(Rule(last=1), grace_seconds=0)
        assert text(raw, first) == {"a": "1"}
