"""Changes that could cost data, with the real engine: each is refused, or every byte comes back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.storage.changed import Changed
from tests.storage.claims import Claims
from tests.storage.destructive_diffs import DIFFS, Diff

PART, PARTS = (int(number) for number in os.environ.get("SHARD", "1/10").split("/"))


def test_there_are_thirty() -> None:
    assert len({diff.name for diff in DIFFS}) == len(DIFFS) >= 30


@pytest.fixture
def changed(claims: Claims, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Changed]:
    """A stack of its own."""
    made = Changed(claims, tmp_path, DIFFS.index(request.node.callspec.params["diff"]))
    yield made
    made.tidy()


@pytest.mark.parametrize("diff", DIFFS[PART - 1 :: PARTS], ids=lambda diff: diff.name)
def test_not_a_byte_is_lost(changed: Changed, diff: Diff) -> None:
    changed.deploy(diff.before)
    if "models" in diff.before["volumes"]:
        changed.snapshot()
    changed.change(diff)
    for volume, end in diff.ends.items():
        changed.check(volume, end)
