"""Where a recorder goes on: after the newest of its own commits, whatever else happened to the branch."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tensorplane import record_position
from tensorplane.datasets import Commit, Dataset, Note, Refused
from tensorplane.datasets.store import Store
from tensorplane.datasets.tree import File
from tensorplane.record_position import Moved, Position, Source

_CLICKS = Source("events", "clicks", "recorder")


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    made = Dataset(tmp_path / "dataset")
    made.store.create()
    return made


def _record(dataset: Dataset, source: Source, begin: int, end: int, place: Position | None = None) -> Commit:
    """Commit a window of partition 0. `place`: what its recorder knows."""
    known = place or record_position.of(dataset, "main", source)
    about = record_position.provenance(source, known.topic_id, {0: begin}, {0: end}, end - begin, {})
    files = {f"0/{begin}": dataset.keep(io.BytesIO(f"{source} {begin}".encode()))}

    def check(before: Commit | None) -> None:
        record_position.check_unchanged(dataset, "main", source, known, before)
        record_position.check_unwritten(dataset, "main", files, before)

    return dataset.put(files, note=Note(provenance=about), after=check)


def test_it_goes_on_after_its_newest_commit(dataset: Dataset) -> None:
    assert record_position.of(dataset, "main", _CLICKS) == Position(None, {})
    _record(dataset, _CLICKS, 0, 5)
    second = _record(dataset, _CLICKS, 5, 9)
    assert record_position.of(dataset, "main", _CLICKS) == Position(second.id, {0: 9})


def test_commits_of_others_and_a_rollback_do_not_move_it(dataset: Dataset) -> None:
    _record(dataset, _CLICKS, 0, 5)
    second = _record(dataset, _CLICKS, 5, 9)
    dataset.put({"notes.txt": dataset.keep(io.BytesIO(b"by hand"))})
    dataset.rollback("main~2")
    assert record_position.of(dataset, "main", _CLICKS) == Position(second.id, {0: 9})
    assert _record(dataset, _CLICKS, 9, 10).files == 2


@pytest.mark.parametrize("about", ["mine", None, ["a"], {"topic": "clicks"}])
def test_a_commit_of_a_program_that_says_something_else_of_a_stream_does_not_move_it(
    dataset: Dataset, about: object
) -> None:
    first = _record(dataset, _CLICKS, 0, 5)
    dataset.put({"notes.txt": dataset.keep(io.BytesIO(b"1"))}, note=Note(provenance={record_position.KEY: about}))
    assert record_position.of(dataset, "main", _CLICKS) == Position(first.id, {0: 5})


@pytest.mark.parametrize("other", [Source("events", "clicks", "two"), Source("events", "views", "recorder")])
def test_a_branch_has_the_records_of_one_source(dataset: Dataset, other: Source) -> None:
    early = record_position.of(dataset, "main", other)
    _record(dataset, _CLICKS, 0, 5)
    refused = "dataset dataset, branch main: has records of events/clicks, recorded by group recorder; set that"
    with pytest.raises(Refused, match=refused):
        record_position.of(dataset, "main", other)
    with pytest.raises(Refused, match=refused):
        _record(dataset, other, 7, 9, early)
    assert record_position.of(dataset, "another-branch", other) == Position(None, {})
    assert _record(dataset, _CLICKS, 5, 9).files == 2


def test_another_source_begins_where_no_records_are_left(dataset: Dataset) -> None:
    other = Source("events", "clicks", "two")
    _record(dataset, _CLICKS, 0, 5)
    dataset.put({"notes.txt": dataset.keep(io.BytesIO(b"by hand"))}, whole=True)
    made = _record(dataset, other, 0, 4)
    assert record_position.of(dataset, "main", other) == Position(made.id, {0: 4})
    with pytest.raises(Refused, match="recorded by group two;"):
        record_position.of(dataset, "main", _CLICKS)


def test_records_of_another_source_that_a_rollback_removed_do_not_stop_it(dataset: Dataset) -> None:
    _record(dataset, _CLICKS, 0, 5)
    other = Source("events", "views", "recorder")
    about = record_position.provenance(other, None, {0: 5}, {0: 9}, 4, {})
    # As two recorders of earlier versions did.
    dataset.put({"0/5": dataset.keep(io.BytesIO(b"views"))}, note=Note(provenance=about))
    with pytest.raises(Refused, match="has records of events/views"):
        record_position.of(dataset, "main", _CLICKS)
    dataset.rollback("main~1")
    assert _record(dataset, _CLICKS, 5, 9).files == 2


def test_files_that_it_did_not_write_are_not_replaced(dataset: Dataset) -> None:
    _record(dataset, _CLICKS, 0, 5)
    before = dataset.put({"0/5": dataset.keep(io.BytesIO(b"by hand"))})
    with pytest.raises(Refused, match="branch main: has 0/5, which this recorder did not write, but would replace"):
        _record(dataset, _CLICKS, 5, 9)
    assert dataset.resolve().id == before.id
    dataset.put({"0/5": None})
    assert _record(dataset, _CLICKS, 5, 9).files == 2


def test_a_look_for_files_of_others_writes_nothing(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    before = dataset.resolve(_record(dataset, _CLICKS, 0, 5).id)
    files = {"0/0": dataset.files()["0/0"], "0/5": File("0" * 64, 1), "0/0/below": File("1" * 64, 1)}
    with monkeypatch.context() as patched:
        patched.setattr(Store, "put", lambda *_: pytest.fail("writes a tree"))
        record_position.check_unwritten(dataset, "main", files, before)
        with pytest.raises(Refused, match="has 0/0, which this recorder did not write"):
            record_position.check_unwritten(dataset, "main", {**files, "0/0": File("2" * 64, 1)}, before)
    with pytest.raises(Refused, match="would be a file and a folder"):  # said by the commit itself
        dataset.put({"0/0/below": dataset.keep(io.BytesIO(b"1"))})


def test_offsets_are_kept_with_the_id_of_their_topic(dataset: Dataset) -> None:
    """Those of an earlier version have none, until the next commit."""
    without = _record(dataset, _CLICKS, 0, 5)
    assert record_position.of(dataset, "main", _CLICKS).topic_id is None
    made = _record(dataset, _CLICKS, 5, 9, Position(without.id, {0: 5}, "the-topic"))
    assert record_position.of(dataset, "main", _CLICKS) == Position(made.id, {0: 9}, "the-topic")


def test_a_recorder_that_was_overtaken_commits_nothing(dataset: Dataset) -> None:
    late = record_position.of(dataset, "main", _CLICKS)
    first = _record(dataset, _CLICKS, 0, 5)
    with pytest.raises(Moved):
        _record(dataset, _CLICKS, 0, 3, late)
    assert dataset.resolve().id == first.id


def test_a_branch_goes_on_where_it_began(dataset: Dataset) -> None:
    first = _record(dataset, _CLICKS, 0, 5)
    dataset.branch("copy")
    assert record_position.of(dataset, "copy", _CLICKS) == Position(first.id, {0: 5})
