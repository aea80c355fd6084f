"""Changes that could cost data, with the real engine: each is refused, or every byte comes back."""

from __future__ import annotations

import pytest

from tests.storage.changed import Changed
from tests.storage.declared import Declared
from tests.storage.destructive_diffs import DIFFS, Diff
from tests.support import counts

PART = counts.shard() or counts.Shard(1, 10)


def test_there_are_thirty() -> None:
    assert len({diff.name for diff in DIFFS}) == len(DIFFS) >= 30


@pytest.mark.counted
@pytest.mark.nightly("30 to 60 s each; the refusals are told by tests/unit/driver")
@pytest.mark.parametrize("diff", DIFFS[PART.index - 1 :: PART.of], ids=lambda diff: diff.name)
def test_not_a_byte_is_lost(declared: Declared, diff: Diff) -> None:
    changed = Changed(declared)
    changed.deploy(diff.before)
    if "models" in diff.before["volumes"]:
        changed.snapshot()
    changed.change(diff)
    for volume, end in diff.ends.items():
        changed.check(volume, end)
