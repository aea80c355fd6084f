"""What a program says of the origin of a commit is what is read back, and compared, of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorplane.datasets import Dataset, Note, Refused
from tests.runtime.test_dataset import write


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"params": {"size": (8, 8)}}, {"params": {"size": [8, 8]}}),
        ({"steps": {1: 2, "b": 3}}, {"steps": {"1": 2, "b": 3}}),
        ({"metrics": {"loss": float("nan")}}, None),
        ({"b": 1, "a": [True, None, "é", 0.1]}, {"a": [True, None, "é", 0.1], "b": 1}),
    ],
)
def test_a_repeated_commit_adds_nothing(
    dataset: Dataset, folder: Path, given: dict[str, Any], kept: dict[str, Any] | None
) -> None:
    write(folder, a="1")
    made = [dataset.commit(folder, note=Note("again", provenance=given)) for _ in range(3)]
    assert len({each.id for each in made}) == len(list(dataset.log())) == 1
    if kept is not None:
        assert made[0].provenance == made[1].provenance == dataset.resolve().provenance == kept


@pytest.mark.parametrize("given", [{"a": {1}}, {"a": Path("/x")}, {"a": b"x"}, {(1, 2): "x"}])
def test_what_is_no_json_is_refused(dataset: Dataset, folder: Path, given: dict[str, Any]) -> None:
    write(folder, a="1")
    with pytest.raises(Refused, match=r"^provenance: is no JSON .*; use maps, lists, text and Python's own numbers$"):
        dataset.commit(folder, note=Note(provenance=given))
    assert not dataset.branches()
