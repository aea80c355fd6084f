"""Shards of the night: together they do everything once, each with a seed of its own."""

from __future__ import annotations

import pytest

from embedded.paths import PROJECT
from tests.support import counts
from tests.support.counts import Shard


@pytest.mark.parametrize(("total", "parts"), [(200, 10), (50, 7), (10_000, 3)])
def test_shares_make_up_the_total(total: int, parts: int) -> None:
    assert sum(Shard(index, parts).share(total) for index in range(1, parts + 1)) == total


def test_no_share_is_empty() -> None:
    assert [Shard(index, 5).share(2) for index in range(1, 6)] == [1, 1, 1, 1, 1]


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "a/b", "1/2/3", "-1/2"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write it like 1/10"):
        Shard.parse(text)


def test_a_count_and_the_seed_depend_on_the_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TENSORPLANE_SHARD", raising=False)
    monkeypatch.delenv("TENSORPLANE_SEED", raising=False)
    monkeypatch.setattr(counts, "COUNTS", {})
    assert (counts.of("kills", quick=3, nightly=200), counts.seed()) == (3, 1)
    monkeypatch.setenv("TENSORPLANE_SHARD", "2/10")
    assert (counts.of("kills", quick=3, nightly=200), counts.seed()) == (20, 1002)
    monkeypatch.setenv("TENSORPLANE_SEED", "7")
    assert counts.seed() == 7002


def test_tests_that_count_are_marked() -> None:
    texts = {path: path.read_text() for path in (PROJECT / "tests").rglob("test_*.py")}
    counting = [path for path, text in texts.items() if "counts.of(" in text and path.name != "test_shards.py"]
    assert len(counting) > 20
    assert [str(path) for path in counting if "mark.counted" not in texts[path]] == []
