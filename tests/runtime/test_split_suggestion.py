"""Stages with more parts than a run can work on: each remedy of the refusal works."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tensorplane.datasets import Refused
from tensorplane.stages import plan
from tensorplane.stages.description import Stage
from tests.runtime.stage_volume import Volume


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    return Volume(tmp_path)


def test_more_parts_than_one_run_can_have_are_refused_with_a_batch_that_fits(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MOST_ITEMS", 2)
    version = volume.put(a="1", b="2", c="3")
    with pytest.raises(Refused, match=r"^upper: 3 parts, more than 2; set inputs.texts.split to \{batch: 4\}$"):
        volume.run(volume.stage(), version)


def _many(volume: Volume, *paths: str) -> str:
    kept = volume.raw.keep(io.BytesIO(b"one"))
    return volume.raw.put(dict.fromkeys(paths, kept), whole=True).id


@pytest.mark.parametrize("split", [{"by": "file"}, {"by": "directory"}, {"batch": 2}])
def test_the_batches_of_the_remedy_are_few_enough_for_all_files(
    volume: Volume, monkeypatch: pytest.MonkeyPatch, split: dict[str, Any]
) -> None:
    """Also where some parts have results, which those of another split lack, and where parts have several files."""
    stage = _split(volume.stage(), **split)
    volume.run(stage, _many(volume, *(f"0{number}/{name}" for number in range(4) for name in "abc")), work=_nothing)
    monkeypatch.setattr(plan, "MOST_ITEMS", 10)
    many = _many(volume, *(f"{number:02}/{name}" for number in range(40) for name in "abc"))
    with pytest.raises(Refused, match=r"; set inputs\.texts\.split to \{batch: \d+\}$") as refused:
        plan.plan(stage, "r", {"texts": many})
    assert 1 < len(plan.plan(_split(stage, batch=_batch_of(refused)), "r", {"texts": many})) <= 10


@pytest.mark.parametrize(
    ("more", "remedy"),
    [("abc", r"inputs\.texts\.split"), (map(str, range(20)), r"inputs\.texts\.split and inputs\.more\.split")],
)
def test_the_batches_of_the_remedy_are_few_enough_for_all_combinations(
    volume: Volume, monkeypatch: pytest.MonkeyPatch, more: Iterable[str], remedy: str
) -> None:
    monkeypatch.setattr(plan, "MOST_ITEMS", 10)
    source = volume.stage().inputs[0]
    stage = volume.stage(inputs=(source, replace(source, name="more")), join="cross")
    versions = {"more": _many(volume, *more), "texts": _many(volume, *map(str, range(20)))}
    with pytest.raises(Refused, match=rf"; set {remedy} to \{{batch: \d+\}}$") as refused:
        plan.plan(stage, "r", versions)
    names = [each.name for each in stage.inputs if f"inputs.{each.name}." in str(refused.value)]
    assert 1 < len(plan.plan(_split(stage, *names, batch=_batch_of(refused)), "r", versions)) <= 10


def _nothing(*_: object) -> None:
    """A program without results."""


def _split(stage: Stage, *names: str, by: str = "whole", batch: int | None = None) -> Stage:
    """The stage with another split of these inputs; without names, of all."""
    inputs = (replace(each, by=by, batch=batch) if each.name in names or not names else each for each in stage.inputs)
    return replace(stage, inputs=tuple(inputs))


def _batch_of(refused: pytest.ExceptionInfo[Refused]) -> int:
    (size,) = re.findall(r"\{batch: (\d+)\}", str(refused.value))
    return int(size)


@pytest.mark.parametrize(("cache", "more"), [(True, ", or commit at most 2 new parts before each run"), (False, "")])
def test_too_many_joined_parts_have_a_remedy_that_join_name_accepts(
    volume: Volume, monkeypatch: pytest.MonkeyPatch, cache: bool, more: str
) -> None:
    monkeypatch.setattr(plan, "MOST_ITEMS", 2)
    source = volume.stage().inputs[0]
    stage = volume.stage(inputs=(source, replace(source, name="more")), join="name", cache=cache)
    version = _many(volume, "a", "b", "c")
    folders = "group the files of several keys into folders, with equal names in texts and more,"
    with pytest.raises(Refused, match=f"^upper: 3 parts, more than 2; {folders} and set split: directory{more}$"):
        plan.plan(stage, "r", {"texts": version, "more": version})
    grouped = _many(volume, "1/a", "1/b", "2/c")
    assert len(plan.plan(_split(stage, by="directory"), "r", {"texts": grouped, "more": grouped})) == 2
