"""What stages of imported specs work on, against a plain model of Pachyderm's datums."""

from __future__ import annotations

import itertools
import random
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tensorplane.cli.pachyderm import convert
from tensorplane.cli.pachyderm.convert import Imported
from tensorplane.cli.pachyderm.note import Note
from tensorplane.cli.pachyderm.spec import Spec
from tensorplane.cli.pachyderm.stage import Choice
from tensorplane.datasets.tree import File
from tensorplane.stages import joins, parts
from tensorplane.stages.description import Input, Stage
from tensorplane.workloads.pipeline.settings import StageInput
from tests.support import counts

_EXPRESSIONS = {
    "/": "/",
    "/*": "/[^/]*",
    "/*/": "/[^/]*",
    "/a": "/a",
    "/*.csv": r"/[^/]*\.csv",
    "/*/*": "/[^/]*/[^/]*",
    "/d/*": "/d/[^/]*",
    "/(*)": "/([^/]*)",
    "/(*).csv": r"/([^/]*)\.csv",
    "/(*)/*": "/([^/]*)/[^/]*",
    "/(*)_(*)": "/([^/]*)_([^/]*)",
    "/([[:alpha:]])*": "/([A-Za-z])[^/]*",
    "/(a|b)?(.csv)": r"/(a|b)((?:\.csv)?)",
}
"""Patterns, and the regular expressions that they are in Pachyderm."""
_PATHS = ["a", "b", "a.csv", "b.csv", ".csv", "a_1", "b_1", "d/a", "d/b.csv", "d/.h", "e/a", "e/b/c", ".h/a"]
_SAME = ("have pods, too", "each member is a stage")
"""Lines about what costs pods or stages, and changes no result."""

Trees = Mapping[str, Sequence[str]]
"""The files of each repo."""
Datum = frozenset[tuple[str, frozenset[str]]]
"""The files of each input, by its name."""


def _drawn(draw: random.Random, name: str, nested: int = 2) -> dict[str, Any]:
    """An input whose leaves have names that begin with this."""
    kind = draw.choice(["cross", "join", "group", "union"]) if nested and draw.random() < 0.7 else "pfs"
    if kind != "pfs":
        members = range(draw.randint(1, 2))
        return {kind: [_drawn(draw, f"{name}{member}", nested - 1) for member in members]}
    keys = {"joinOn": draw.choice(["$1", "$1", "${2}"]), "groupBy": draw.choice(["$1", "$1", "$2"])}
    glob = draw.choice([*_EXPRESSIONS, "/(*)", "/(*).csv"])
    return {"pfs": {"name": name, "repo": draw.choice("xy"), "glob": glob, **keys}}


def _datums(given: Mapping[str, Any], trees: Trees) -> list[list[Mapping[str, Any]]]:
    """What Pachyderm's datums consist of: leaves with the path that matched and their keys."""
    ((kind, of),) = given.items()
    if kind == "pfs":
        return [[each] for each in _matched(of, trees[of["repo"]])]
    found = [_datums(one, trees) for one in of]
    if kind == "cross":
        return [[leaf for datum in chosen for leaf in datum] for chosen in itertools.product(*found)]
    if kind == "union":
        return [datum for datums in found for datum in datums]
    key = "joinOn" if kind == "join" else "groupBy"
    by_key = [_by_key((leaf for datum in datums for leaf in datum), key) for datums in found]
    keys = sorted({each for one in by_key for each in one})
    if kind == "group":
        return [[leaf for one in by_key for leaf in one.get(each, [])] for each in keys]
    common = [each for each in keys if all(each in one for one in by_key)]
    return [list(chosen) for each in common for chosen in itertools.product(*(one[each] for one in by_key))]


def _by_key(leaves: Any, key: str) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for leaf in leaves:
        found.setdefault(leaf[key], []).append(leaf)
    return found


def _matched(pfs: Mapping[str, Any], files: Sequence[str]) -> list[dict[str, Any]]:
    folders = {"/" + path[: at.start()] for path in files for at in re.finditer("/", path)}
    made = []
    for path in ["/"] if pfs["glob"] == "/" else sorted({*folders, *(f"/{file}" for file in files)}):
        if match := re.fullmatch(_EXPRESSIONS[pfs["glob"]], path):
            taken = {key: "".join(match.groups("")[_group(pfs[key]) - 1 :][:1]) for key in ("joinOn", "groupBy")}
            inside = frozenset(file for file in files if f"/{file}/".startswith(f"{path.rstrip('/')}/"))
            made.append({"name": pfs["name"], "files": inside, **taken})
    return made


def _group(reference: str) -> int:
    return int(reference.strip("${}"))


def _expected(given: Mapping[str, Any], trees: Trees) -> set[Datum]:
    found = set()
    for datum in _datums(given, trees):
        files: dict[str, frozenset[str]] = {}
        for leaf in datum:
            files[leaf["name"]] = files.get(leaf["name"], frozenset()) | leaf["files"]
        found.add(frozenset(files.items()))
    return found


def _worked_on(made: Imported, trees: Trees, tmp_path: Path) -> set[Datum]:
    """What the programs of the stages see, as a shell runs them."""
    found = set()
    stages = [stage for one in made.workloads.values() for stage in one["stages"].values()]
    for number, stage in enumerate(one for one in stages if "image" in one):
        inputs = {name: StageInput.model_validate(one) for name, one in stage["inputs"].items()}
        described = Stage("p", "s", {}, tuple(_input(*each) for each in inputs.items()), "", Path(), "", {}, join=None)
        of = {name: _parts(one, trees[one.dataset]) for name, one in inputs.items()}
        items = joins.items(Stage(**{**described.__dict__, "join": stage.get("join")}), of)
        script = []
        for index, item in enumerate(items):
            folder = tmp_path / f"{number}-{index}"
            seen = {
                name: part.paths if part.name != parts.WHOLE else trees[inputs[name].dataset]
                for name, part in item.parts.items()
            }
            for name, paths in seen.items():
                for path in paths:
                    (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name / path).touch()
            script += ["(", stage["command"][-1].replace("/pfs", f"{folder}").replace("DONE", f"{index}"), ")"]
        program = tmp_path / f"{number}.sh"  # longer than an argument may be
        tmp_path.mkdir(parents=True, exist_ok=True)
        program.write_text("\n".join(script))
        done = subprocess.run(["sh", program], capture_output=True, text=True, check=True)
        for index in map(int, done.stdout.split()):
            folder = tmp_path / f"{number}-{index}"
            names = ((name, folder / name) for name in inputs)
            found.add(frozenset((name, frozenset(_files(at))) for name, at in names))
    return found


def _files(folder: Path) -> list[str]:
    return [f"{path.relative_to(folder)}" for path in folder.rglob("*") if path.is_file()]


def _input(name: str, one: StageInput) -> Input:
    return Input(name, one.dataset, Path(), "", one.split.by, None, one.key.regex if one.key else None)


def _parts(one: StageInput, files: Sequence[str]) -> list[parts.Part]:
    if one.split.is_whole:
        return parts.whole("v")
    return parts.split({path: File("", 0) for path in files}, by=one.split.by, batch=None)


def _says_same(note: Note, trees: Trees) -> bool:
    """Whether a line is about no difference here."""
    folders_match = "each file is a part" in note.fate and any(
        path.count("/") > 1 for files in trees.values() for path in files
    )
    return any(text in note.fate for text in _SAME) or ("each file is a part" in note.fate and not folders_match)


@pytest.mark.counted
def test_what_is_worked_on_are_pachyderms_datums_or_a_line_says_otherwise(tmp_path: Path) -> None:
    draw = random.Random(f"datums {counts.shard()}")
    compared = 0
    total = counts.of(quick=60, nightly=3000)
    for number in range(total):
        given = _drawn(draw, "i")
        trees = {repo: draw.sample(_PATHS, draw.randint(1, 6)) for repo in "xy"}
        program = {"image": "i", "cmd": ["sh"], "stdin": ["echo DONE"]}
        made = convert.convert(
            [Spec.model_validate({"pipeline": {"name": "p"}, "transform": program, "input": given})], Choice()
        )
        if not all(_says_same(note, trees) for note in made.notes):
            continue
        assert _worked_on(made, trees, tmp_path / f"{number}") == _expected(given, trees), (given, trees)
        compared += 1
    assert compared > total / 4
