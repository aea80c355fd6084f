"""Triggers that count files: each one once, however often it changed since the last run."""

from __future__ import annotations

import io
import random
import tracemalloc
from pathlib import Path

import pytest

from tensorplane.agents.triggers import counts
from tensorplane.datasets import Dataset, File
from tensorplane.datasets.retention import Rule
from tests.support.trigger_world import World, settle

THREE = {"counts": "files", "atLeast": 3}


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(tmp_path)
    _put(found, a="1", b="1", c="1")
    settle(found, enough=THREE)
    found.end_runs()
    return found


def _put(world: World, **texts: str | None) -> None:
    dataset = world.dataset()
    dataset.put({name: text and dataset.keep(io.BytesIO(text.encode())) for name, text in texts.items()})  # type: ignore[misc]
    settle(world, steps=2, enough=THREE)


def test_one_file_that_changes_several_times_is_one(world: World) -> None:
    for text in "2345":
        _put(world, a=text)
    assert len(world.begun()) == 1
    _put(world, b="2", d="1")
    assert world.events[2].reason == "trigger enough: 3 new files"


def test_a_file_that_was_deleted_and_is_put_back_is_none(world: World) -> None:
    for _ in range(3):
        _put(world, a=None)
        _put(world, a="1")
    assert len(world.begun()) == 1
    _put(world, a=None, d="1", e="1")
    assert len(world.begun()) == 1, "a deleted one is none"


def test_files_that_came_before_the_first_run_are_counted_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    for text in "123":
        _put(world, a=text)
    assert world.begun() == []
    _put(world, b="1", c="1")
    assert world.events[1].reason == "trigger enough: 3 new files"


@pytest.mark.parametrize("counts", ["files", "bytes"])
def test_all_files_of_a_branch_made_of_another_one_are_new(tmp_path: Path, counts: str) -> None:
    """Also of a dataset whose branch of that name was deleted and made of another commit since."""
    world, enough = World(tmp_path), {"counts": counts, "atLeast": 3}
    dataset = world.dataset()
    for name in "abc":
        dataset.put({name: dataset.keep(io.BytesIO(b"x"))}, branch="staging")
    dataset.branch("main", "staging")
    settle(world, steps=2, enough=enough)
    assert world.files_of_runs() == [3]
    world.end_runs()
    dataset.put({"d": dataset.keep(io.BytesIO(b"x"))}, branch="staging")
    dataset.delete_branch("main")
    dataset.branch("main", "staging")
    settle(world, steps=2, enough=enough)
    assert world.files_of_runs() == [3, 4]


def test_bytes_are_those_of_files_that_differ(tmp_path: Path) -> None:
    world, enough = World(tmp_path), {"counts": "bytes", "atLeast": 30}
    for text in "123":
        world.dataset().put({"a": world.dataset().keep(io.BytesIO(text.encode() * 20))})
        settle(world, steps=2, enough=enough)
    assert world.begun() == []


def test_without_the_last_runs_version_each_change_counts(world: World) -> None:
    _put(world, a="2")
    _put(world, a="3")
    world.dataset().collect(Rule(last=1), grace_seconds=0)
    _put(world, a="4")
    assert world.events[2].reason == "trigger enough: 3 new files"


def test_what_differs_is_what_the_library_says(tmp_path: Path) -> None:
    """Also in folders so large that their nodes are split, and where a file becomes a folder."""
    draw, dataset = random.Random("trees"), Dataset(tmp_path)
    kept = [dataset.keep(io.BytesIO(b"x" * size)) for size in range(4)]
    names = [f"{folder}{number}" for folder in ("", "big/", "big/deep/") for number in range(300)]
    there: dict[str, File] = {"first": kept[1]}
    made = [dataset.put(there, whole=True)]
    for number in range(12):
        there |= {name: draw.choice(kept) for name in draw.sample(names, draw.choice((1, 20, 800)))}
        there = {name: file for name, file in there.items() if draw.random() > (0.7 if number % 5 == 4 else 0.05)}
        there[f"turn{number % 2}"] = kept[0]
        there.pop(f"turn{number % 2}/x", None)
        there[f"turn{1 - number % 2}/x"] = kept[2]
        there.pop(f"turn{1 - number % 2}", None)
        made.append(dataset.put(there, whole=True))
    for _ in range(60):
        one, other = draw.choice(made), draw.choice(made)
        changes = [new for _, _, new in dataset.diff(one.id, other.id) if new]
        expected = counts.Files(len(changes), sum(each.size for each in changes))
        assert counts.new_files(tmp_path, one.version, other.version) == expected


def test_a_large_folder_beside_a_small_one_does_not_come_into_memory(tmp_path: Path) -> None:
    """The agent has 128 MiB."""
    dataset = Dataset(tmp_path)
    kept = dataset.keep(io.BytesIO(b"x"))
    small = dataset.put({"0": kept}, whole=True)
    large = dataset.put({str(number): kept for number in range(20_000)}, whole=True)
    tracemalloc.start()
    try:
        assert counts.new_files(tmp_path, small.version, large.version) == counts.Files(19_999, 19_999)
        assert counts.new_files(tmp_path, large.version, small.version) == counts.Files(0, 0)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2**20
