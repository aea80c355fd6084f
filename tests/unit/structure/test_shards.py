"""Shards of the night: together they do everything once, each with a seed of its own, and go on where they stopped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tensorplane.core.paths import PROJECT
from tests import groups, nightly
from tests.support import counts, shards
from tests.support.counts import Shard

_MODULE = """
import os, pytest
@pytest.mark.nightly
def test_slow(): assert not os.environ.get("BREAKS")
@pytest.mark.counted
def test_drawn(): pass
@pytest.mark.nightly
def test_skipped(): pytest.skip("no root")
def test_of_the_day(): pass
"""


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
    assert (counts.of(quick=3, nightly=200), counts.seed()) == (3, 1)
    monkeypatch.setenv("TENSORPLANE_SHARD", "2/10")
    assert (counts.of(quick=3, nightly=200), counts.seed()) == (20, 1002)
    monkeypatch.setenv("TENSORPLANE_SEED", "7")
    assert counts.seed() == 7002


def test_tests_that_count_are_marked() -> None:
    texts = {path: path.read_text() for path in (PROJECT / "tests").rglob("test_*.py")}
    counting = [path for path, text in texts.items() if "counts.of(" in text and path.name != "test_shards.py"]
    assert len(counting) > 20
    assert [str(path) for path in counting if "mark.counted" not in texts[path]] == []


def test_shards_do_all_of_the_night_once_and_each_goes_on_where_it_stopped(tmp_path: Path) -> None:
    modules = [f"test_{letter}.py" for letter in "abcdef"]
    for module in modules:
        (tmp_path / module).write_text(_MODULE)
    wanted = {f"{module}::test_slow": 1 for module in modules} | {f"{module}::test_drawn": 2 for module in modules}
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    _run(tmp_path, "1/2", first, BREAKS="1")
    assert not [test for test in shards.passed(first) if "test_slow" in test], "what failed is left"
    _run(tmp_path, "1/2", first)
    _run(tmp_path, "2/2", second)
    assert Counter([*shards.passed(first), *shards.passed(second)]) == wanted
    left = _run(tmp_path, "1/2", first)
    assert not re.search(r"passed|failed", left), left
    assert re.search(r"\d skipped", left), "a test that was skipped has proved nothing"


def _run(folder: Path, part: str, progress: Path, **more: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.shards", "--rootdir", str(folder)]
    shard = {"PYTHONPATH": str(PROJECT), "TENSORPLANE_SHARD": part, shards.PROGRESS: str(progress)}
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **shard, **more}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True).stdout


def test_a_night_runs_each_folder_once_on_clusters_that_the_day_does_not_use() -> None:
    own, day = nightly.own_groups(), groups.GROUPS
    assert not groups.ungrouped(groups.folders_with_tests(), own)
    assert not {group.instance for group in own.values()} & {group.instance for group in day.values()} - {""}


def test_a_row_takes_the_place_of_its_shard_alone() -> None:
    table = nightly.table("", "| 10/10 | b |", Shard(10, 10))
    table = nightly.table(table, "| 2/10 | a |", Shard(2, 10))
    table = nightly.table(table, "| 2/10 | c |", Shard(2, 10))
    assert table.splitlines()[2:] == ["| 2/10 | c |", "| 10/10 | b |"]
    assert nightly.table(table, "| 1/3 | d |", Shard(1, 3)).splitlines()[2:] == ["| 1/3 | d |"]
