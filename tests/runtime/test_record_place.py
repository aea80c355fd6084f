"""Where a recorder goes on: after the newest of its own commits, whatever else happened to the branch."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tensorplane import record_place
from tensorplane.datasets import Commit, Dataset, Note
from tensorplane.record_place import Moved, Place, Source

_CLICKS = Source("events", "clicks", "recorder")


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    made = Dataset(tmp_path / "dataset")
    made.store.create()
    return made


def _record(dataset: Dataset, source: Source, begin: int, end: int, place: Place | None = None) -> Commit:
    """Commit a window of partition 0. `place`: what its recorder knows."""
    about = record_place.provenance(source, {0: begin}, {0: end}, end - begin, {})
    known = place or record_place.of(dataset, "main", source)
    return dataset.put(
        {f"{source.group}/{begin}": dataset.keep(io.BytesIO(b"1"))},
        note=Note(provenance=about),
        after=lambda before: record_place.unchanged(dataset, "main", source, known, before),
    )


def test_it_goes_on_after_its_newest_commit(dataset: Dataset) -> None:
    assert record_place.of(dataset, "main", _CLICKS) == Place(None, {})
    _record(dataset, _CLICKS, 0, 5)
    second = _record(dataset, _CLICKS, 5, 9)
    assert record_place.of(dataset, "main", _CLICKS) == Place(second.id, {0: 9})


def test_commits_of_others_and_a_rollback_do_not_move_it(dataset: Dataset) -> None:
    _record(dataset, _CLICKS, 0, 5)
    second = _record(dataset, _CLICKS, 5, 9)
    dataset.put({"notes.txt": dataset.keep(io.BytesIO(b"by hand"))})
    _record(dataset, Source("events", "clicks", "another"), 0, 100)
    dataset.rollback("main~3")
    assert record_place.of(dataset, "main", _CLICKS) == Place(second.id, {0: 9})
    assert _record(dataset, _CLICKS, 9, 10).files == 2


def test_another_group_begins_anew(dataset: Dataset) -> None:
    _record(dataset, _CLICKS, 0, 5)
    for source in (Source("events", "clicks", "two"), Source("events", "views", "recorder")):
        assert record_place.of(dataset, "main", source) == Place(None, {})


def test_a_recorder_that_was_overtaken_commits_nothing(dataset: Dataset) -> None:
    late = record_place.of(dataset, "main", _CLICKS)
    first = _record(dataset, _CLICKS, 0, 5)
    with pytest.raises(Moved):
        _record(dataset, _CLICKS, 0, 3, late)
    assert dataset.resolve().id == first.id


def test_a_branch_goes_on_where_it_began(dataset: Dataset) -> None:
    first = _record(dataset, _CLICKS, 0, 5)
    dataset.branch("copy")
    assert record_place.of(dataset, "copy", _CLICKS) == Place(first.id, {0: 5})
