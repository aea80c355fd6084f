"""Joins of a stage: which parts of its inputs come together, against a plain model, and what is said of the others."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tensorplane.datasets import Dataset, Refused
from tensorplane.stages import joins, steps
from tensorplane.stages.commit import commit
from tensorplane.stages.description import Input, Stage
from tensorplane.stages.parts import Part
from tensorplane.workloads.pipeline.join_key import JoinKey
from tests.support import counts

_RUN = "pairs-1"


class Joined:
    """A stage with several split inputs on a volume."""

    def __init__(self, root: Path, by: str = "file", join: str = "name", **keys: str | None) -> None:
        self.root = root
        inputs = [Input(name, name, root / name, name, by, None, key) for name, key in keys.items()]
        self.stage = Stage("p", "pair", {}, tuple(inputs), "made", root / "made", "made", {}, join=join)

    def put(self, **names: Sequence[str]) -> None:
        """Commit files of these names to each input, with their own name in them."""
        for dataset, paths in names.items():
            folder = self.root / f"of-{dataset}"
            for path in paths:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(path)
            folder.mkdir(parents=True, exist_ok=True)
            Dataset(self.root / dataset).commit(folder)

    def plan(self) -> list[list[list[str]]]:
        """The files that each pod gets of each input."""
        newest = {each.name: each.open().resolve().id for each in self.stage.inputs}
        self.taken = steps.take("plan", self.stage, _RUN, newest)
        todo = json.loads(self.taken.outputs["items"])
        folders = [[self.root / item[f"in-{each.name}"] for each in self.stage.inputs] for item in todo]
        return [[sorted(_files(folder)) for folder in each] for each in folders]

    @property
    def left_out(self) -> dict[str, int]:
        found: dict[str, int] = json.loads(self.taken.outputs["summary"]).get("left_out", {})
        return found


def _files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _key(stated: object) -> str:
    return JoinKey.model_validate(stated).regex


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("cats/a.jpg", "cats/a"),
        ("a.tar.gz", "a.tar"),
        ("a.", "a."),
        ("a.txt.", "a.txt."),
        ("a..txt", "a."),
        (".a", ".a"),
        (".a.jpg", ".a"),
        ("x.d/y", "x.d/y"),
        ("x.d/.y", "x.d/.y"),
    ],
)
def test_the_key_of_a_file_is_its_path_without_an_ending(tmp_path: Path, name: str, key: str) -> None:
    """On any Python: a pipeline's runs have images of several."""
    joined = Joined(tmp_path, one=None, other=_key("(**)!"))
    joined.put(one=[name], other=[f"{key}!"])
    assert joined.plan() == [[[name], [f"{key}!"]]]


def test_dots_in_the_names_of_folders_are_no_endings(tmp_path: Path) -> None:
    joined = Joined(tmp_path, by="directory", runs=None, notes=None)
    joined.put(runs=["run.1/x", "run.2/x", "2026.11.29/x", "plain/x"], notes=["run.1/n", "run.2/n", "2026.11.29.txt"])
    assert joined.plan() == [
        [["2026.11.29/x"], ["2026.11.29.txt"]],
        [["run.1/x"], ["run.1/n"]],
        [["run.2/x"], ["run.2/n"]],
    ]
    assert joined.left_out == {"notes": 0, "runs": 1}


def test_parts_of_one_key_that_is_not_stated_are_refused_before_a_pod_starts(tmp_path: Path) -> None:
    joined = Joined(tmp_path, photos=None, labels=None)
    joined.put(photos=["a.jpg", "a.png", "b.jpg"], labels=["a.json", "v1.0", "v1.1"])
    with pytest.raises(Refused) as refused:
        joined.plan()
    assert str(refused.value).split("\n") == [
        "pair.inputs.photos: 2 parts have the key 'a' ('a.jpg', 'a.png'); "
        "set inputs.photos.key to a pattern, which allows equal keys, or rename them",
        "pair.inputs.labels: 2 parts have the key 'v1' ('v1.0', 'v1.1'); "
        "set inputs.labels.key to a pattern, which allows equal keys, or rename them",
    ]


def test_parts_of_one_stated_key_come_in_every_combination(tmp_path: Path) -> None:
    joined = Joined(tmp_path, photos=_key({"endings": [".jpg", ".png"]}), labels=_key("(*)_*.json"))
    joined.put(photos=["a.jpg", "a.png", "b.jpg", "c.gif"], labels=["a_1.json", "a_2.json", "d_1.json"])
    assert sorted(joined.plan()) == [
        [["a.jpg"], ["a_1.json"]],
        [["a.jpg"], ["a_2.json"]],
        [["a.png"], ["a_1.json"]],
        [["a.png"], ["a_2.json"]],
    ]
    assert joined.left_out == {"photos": 2, "labels": 1}


def test_stated_endings_of_several_dots_meet_others(tmp_path: Path) -> None:
    joined = Joined(tmp_path, packed=_key("(*).tar.gz"), about=None)
    joined.put(packed=["a.tar.gz", "b.1.tar.gz"], about=["a.json", "b.1.json"])
    assert joined.plan() == [[["a.tar.gz"], ["a.json"]], [["b.1.tar.gz"], ["b.1.json"]]]
    assert joined.left_out == {}


def test_what_found_no_partner_is_counted_in_the_plan_and_in_the_version(tmp_path: Path) -> None:
    joined = Joined(tmp_path, photos=None, labels=None)
    joined.put(photos=["a.jpg", "b.jpg", "c.jpg"], labels=["x.json"])
    assert joined.plan() == []
    assert joined.left_out == {"photos": 3, "labels": 1}
    assert joined.taken.said.endswith(" left_out=4")
    made = commit(joined.stage, _RUN).commit
    assert made.provenance["parts"] == {"parts": 0, "done": 0, "skipped": 0, "failed": 0, "left_out": 4}


def test_a_cross_compares_no_names_so_nothing_is_left_out(tmp_path: Path) -> None:
    joined = Joined(tmp_path, join="cross", photos=None, labels=None)
    joined.put(photos=["a.jpg", "b.jpg"], labels=[])
    assert joined.plan() == []
    assert joined.left_out == {}


@pytest.mark.parametrize(
    ("join", "key", "remedy"),
    [
        ("name", r"([^_]*)_.*", "use keys that fewer parts share"),
        ("cross", None, "set inputs.photos.split or inputs.labels.split to larger batches"),
    ],
)
def test_more_combinations_than_an_agent_can_plan_are_refused_before_one_is_made(
    tmp_path: Path, join: str, key: str | None, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Joined(tmp_path, join=join, photos=key, labels=key).stage
    parts = [Part(f"a_{number}", "", ()) for number in range(1000)]
    monkeypatch.setattr(joins, "Item", None)
    with pytest.raises(Refused) as refused:
        joins.items(stage, {"photos": parts, "labels": parts})
    assert (
        str(refused.value)
        == f"pair: photos and labels have 1,000,000 combinations of parts, more than 200,000; {remedy}"
    )


def test_parts_with_one_partner_each_are_as_many_as_the_inputs_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = Joined(tmp_path, photos=None, labels=None)
    joined.put(photos=["a.jpg", "b.jpg"], labels=["a.json", "b.json"])
    monkeypatch.setattr(joins, "MOST_COMBINATIONS", 1)
    assert len(joined.plan()) == 2


_NAMES = ("a", "b", "a.b", "v1.0", "v1.1", "2026.11.29", "x_1", "x_2", ".hidden", "é", "c d", "a.tar")
_ENDS = ("", ".jpg", ".png", ".tar.gz", ".json")
_KEYS: tuple[object, ...] = (None, "(*).tar.gz", "(*)_?", {"endings": [".jpg", ".png", ".tar.gz"]}, "{a,v1}(*)", "(**)")


@pytest.mark.counted
def test_random_joins_are_those_of_a_plain_model(tmp_path: Path) -> None:
    for number in range(counts.of(quick=10, nightly=300)):
        draw = random.Random(f"{counts.seed()}.{number}")
        names = {
            dataset: sorted({draw.choice(_NAMES) + draw.choice(_ENDS) for _ in range(draw.randint(0, 6))})
            for dataset in ("one", "two", "three")[: draw.randint(2, 3)]
        }
        keys = {dataset: draw.choice(_KEYS) for dataset in names}
        stated = {each: None if key is None else _key(key) for each, key in keys.items()}
        joined = Joined(tmp_path / f"{number}", "file", "name", **stated)
        joined.put(**names)
        of_names = {each: {name: _model(name, keys[each]) for name in names[each]} for each in names}
        unclear = {
            each for each in names if keys[each] is None and len({*of_names[each].values()}) < len(of_names[each])
        }
        if unclear:
            with pytest.raises(Refused) as refused:
                joined.plan()
            assert all(f"pair.inputs.{each}: " in str(refused.value) for each in unclear), number
            continue
        expected = [
            each
            for each in itertools.product(*names.values())
            if len({found := of_names[one][name] for one, name in zip(names, each, strict=True)}) == 1
            and found is not None
        ]
        assert sorted(joined.plan()) == sorted([[name] for name in each] for each in expected), number
        alone = {one: len({*names[one]} - {each[at] for each in expected}) for at, one in enumerate(names)}
        assert joined.left_out == (alone if any(alone.values()) else {}), number


def _model(name: str, key: object) -> str | None:
    """The key of a file's name, in other words than the library's."""
    if key is None:
        before, dot, after = name.rpartition(".")
        return before if dot and before and after else name
    if isinstance(key, dict):
        ends = sorted((one for one in key["endings"] if name.endswith(one) and name != one), key=len)
        return name[: -len(ends[-1])] if ends else None
    if key == "(*).tar.gz":
        return name.removesuffix(".tar.gz") if name.endswith(".tar.gz") else None
    if key == "(*)_?":
        return name[:-2] if re.search("_.$", name) else None
    if key == "{a,v1}(*)":
        return next((name.removeprefix(one) for one in ("a", "v1") if name.startswith(one)), None)
    return name
