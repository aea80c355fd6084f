"""Inputs of specs: which parts of which datasets come together, and what has no equal."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.core.errors import UserError
from tests.support.problems import problems_of
from tests.unit.cli.pachyderm.imported_specs import import_specs, spec_with, stage_of, tree_of


@pytest.mark.parametrize(
    ("glob", "split"),
    [("/", None), ("/*", "directory"), ("/*.csv", "directory"), ("/**", "file"), ("/*/*", "file"), ("/a.csv", None)],
)
def test_a_glob_is_a_split(glob: str, split: str | None) -> None:
    stage = stage_of(spec_with(input={"pfs": {"repo": "photos", "glob": glob}}))
    assert stage["inputs"]["photos"].get("split") == split


def test_inputs_come_together_as_their_spec_says() -> None:
    def pfs(repo: str, **more: Any) -> dict[str, Any]:
        return {"pfs": {"repo": repo, "glob": "/*", **more}}

    assert stage_of(spec_with(input={"cross": [pfs("x"), pfs("y")]}))["join"] == "cross"
    assert "join" not in stage_of(spec_with(input={"cross": [pfs("x", glob="/"), pfs("y")]}))
    joined = [pfs(repo, glob=f"/(*).{repo}", joinOn="$1") for repo in ("x", "y")]
    stage = stage_of(spec_with(input={"cross": [{"join": joined}, pfs("z")]}))
    assert stage["join"] == "name"
    assert {name: one.get("split") for name, one in stage["inputs"].items()} == {
        "x": "directory",
        "y": "directory",
        "z": None,
    }
    crossed = import_specs(spec_with(input={"cross": [{"union": [pfs("x"), pfs("y")]}, pfs("z", glob="/")]}))
    assert [sorted(one["inputs"]) for one in crossed.workloads["a"]["stages"].values()] == [
        ["x", "z"],
        ["y", "z"],
        ["a-1", "a-2"],
    ]


def _joined(one: str, two: str, on: str = "$1") -> dict[str, Any]:
    members = [{"pfs": {"repo": repo, "glob": glob, "joinOn": on}} for repo, glob in (("x", one), ("y", two))]
    return spec_with(input={"join": members})


@pytest.mark.parametrize(
    ("one", "two", "on", "found"),
    [
        ("/(*).tar.gz", "/(*).json", "$1", [("directory", "(*).tar.gz"), ("directory", "(*).json")]),
        ("/(*)", "/(*)", "${1}", [("directory", "(*)"), ("directory", "(*)")]),
        ("/SHOP(*).csv", "/*_SHOP(*).csv", "$1", [("directory", "SHOP(*).csv"), ("directory", "*_SHOP(*).csv")]),
        ("/((*)).csv", "/(*)/", "$1", [("directory", "(*).csv"), ("directory", "(*)")]),
        (
            "/([[:alpha:]]*)_1.csv",
            "/([!_-]*)_2.csv",
            "$1",
            [("directory", "([A-Za-z]*)_1.csv"), ("directory", r"([!\-_]*)_2.csv")],
        ),
        (
            "/(a|b,c)-([[:digit:]x]*).csv",
            "/?(a)\\*(*).txt",
            "$2",
            [("directory", r"{a,b\,c}-([0-9x]*).csv"), ("directory", r"{a,}\*(*).txt")],
        ),
        ("/(*)-(*).csv", "/a-(?)-([0-9]).txt", "$2", [("directory", "*-(*).csv"), ("directory", "a-?-([0-9]).txt")]),
    ],
)
def test_a_join_by_what_a_glob_captures_has_an_equal(one: str, two: str, on: str, found: list[tuple[str, str]]) -> None:
    made = import_specs(_joined(one, two, on))
    stage = made.workloads["a"]["stages"]["a"]
    assert [(each["split"], each["key"]) for each in stage["inputs"].values()] == found
    assert (stage["join"], [f"{note}" for note in made.notes], problems_of(tree_of(made))) == ("name", [], [])


def test_a_join_of_files_in_folders_combines_them_and_says_what_folders_are() -> None:
    made = import_specs(_joined("/(*)/*", "/(*).json"))
    inputs = made.workloads["a"]["stages"]["a"]["inputs"]
    assert {name: (one["split"], one["key"]) for name, one in inputs.items()} == {
        "x": ("file", "(*)/*"),
        "y": ("directory", "(*).json"),
    }
    assert [f"{note.field}: {note.fate}" for note in made.notes] == [
        "input.join[0].pfs.glob: only files are parts, in Pachyderm also folders that match"
    ]


@pytest.mark.parametrize(
    ("one", "two", "on"),
    [
        ("/(*).csv", "/(*).txt", "$1-$1"),
        ("/(*).csv", "/(*).txt", "$2"),
        ("/(*).csv", "/+(a|b).txt", "$1"),
        ("/(*).csv", "/(*)*(a).txt", "$1"),
        ("/(*).csv", "/(a|b).txt", "$1"),
        ("/(*).csv", "/(*[!_])_2.csv", "$1"),
        ("/(*).csv", "/(*).txt", "$01"),
    ],
)
def test_a_join_by_anything_else_is_told(one: str, two: str, on: str) -> None:
    made = import_specs(_joined(one, two, on))
    assert "input.join.joinOn" in [note.field for note in made.notes]
    assert not any("key" in each or "split" in each for each in made.workloads["a"]["stages"]["a"]["inputs"].values())


@pytest.mark.parametrize(("glob", "lines"), [("/", 1), ("/(*)", 2)])
def test_an_outer_join_of_all_files_waits_for_a_version_of_each_which_is_told(glob: str, lines: int) -> None:
    members = [_at("x", glob=glob, outerJoin=True), _at("y", glob="/")]
    made = import_specs(spec_with(input={"join": members}))
    assert len(made.notes) == lines
    assert f"{made.notes[-1]}" == (
        "a.input.join[0].pfs.outerJoin: left out: a run begins once each dataset has a version; "
        "commit an empty folder where nothing is yet"
    )


def _at(repo: str, **more: Any) -> dict[str, Any]:
    return {"pfs": {"repo": repo, "glob": "/(*)", "joinOn": "$1", "groupBy": "$1", **more}}


@pytest.mark.parametrize(
    ("given", "field", "nested"),
    [
        ({"join": [{"group": [_at("x")]}, _at("y")]}, "input.join", "group"),
        ({"group": [{"join": [_at("x"), _at("y")]}]}, "input.group", "join"),
        ({"join": [{"cross": [_at("x"), _at("y")]}, _at("z")]}, "input.join", "cross"),
        ({"join": [{"join": [_at("x"), _at("y")]}, _at("z")]}, "input.join", "join"),
        ({"group": [{"cross": [_at("x"), _at("y")]}]}, "input.group", "cross"),
        ({"group": [{"group": [_at("x")]}, _at("y")]}, "input.group", "group"),
        (
            {"cross": [{"join": [{"cross": [{"group": [_at("x")]}]}, _at("y")]}]},
            "input.cross[0].join",
            "group",
        ),
        ({"group": [{"union": [_at("x"), _at("y")]}]}, "input.group", "union"),
    ],
)
def test_what_is_nested_in_a_join_or_group_is_told(given: dict[str, Any], field: str, nested: str) -> None:
    made = import_specs(spec_with(input=given))
    assert [f"{note}" for note in made.notes if note.field == field] == [
        f"a.{field}: has a {nested} in it, which stages do not support, so the program gets all files at once; "
        "make what is nested a pipeline, whose output this one reads"
    ]
    for stage in made.workloads["a"]["stages"].values():
        assert not any("key" in one or "split" in one for one in stage["inputs"].values())
        assert "join" not in stage
    assert problems_of(tree_of(made)) == []


def test_a_join_with_a_union_is_a_join_with_each_of_its_members() -> None:
    made = import_specs(spec_with(input={"join": [{"union": [_at("x", name="n"), _at("y", name="n")]}, _at("z")]}))
    found = made.workloads["a"]["stages"]
    assert [
        [(one["dataset"], one.get("key")) for one in found[name]["inputs"].values()] for name in ("a-1", "a-2")
    ] == [[("x", "(*)"), ("z", "(*)")], [("y", "(*)"), ("z", "(*)")]]
    assert [note.field for note in made.notes] == ["input.union"]


def test_a_join_or_group_of_one_input_is_that_input() -> None:
    joined = import_specs(spec_with(input={"join": [_at("x", joinOn="k")]}))
    assert joined.workloads["a"]["stages"]["a"]["inputs"]["x"].get("split") == "directory"
    crossed = import_specs(spec_with(input={"cross": [{"group": [_at("x")]}, {"join": [_at("y"), _at("z")]}]}))
    inputs = crossed.workloads["a"]["stages"]["a"]["inputs"]
    assert [one.get("key") for one in inputs.values()] == [None, "(*)", "(*)"]
    assert "split" not in inputs["x"]
    assert [note.field for note in crossed.notes] == ["input.cross[0].group[0].pfs.glob"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({**_at("x"), "cross": [_at("y"), _at("z")]}, "input: has pfs and cross in one place"),
        ({"cross": [{"union": []}, _at("y")]}, "input.cross[0]: has no input"),
        ({"crosss": [_at("y")]}, "input: has no input"),
    ],
)
def test_an_input_of_several_kinds_or_of_none_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError) as raised:
        import_specs(spec_with(input=given))
    assert raised.value.lines == (f"a.{problem}; set one of pfs, cron, cross, join, group, union",)


def test_an_unknown_field_of_any_depth_in_the_input_is_told() -> None:
    given = {"cross": [{**_at("x", trigger={"commits": 2, "color": "red"}), "limit": 3}]}
    assert {note.field for note in import_specs(spec_with(input=given)).notes} == {
        "input.cross[0].limit",
        "input.cross[0].pfs.trigger.color",
    }


def test_a_name_that_no_variable_can_have_is_told_where_the_program_reads_it() -> None:
    program = {"image": "team/a:1", "cmd": ["python3", "-c", "import os; os.environ['my-x']"]}
    made = import_specs(spec_with(transform=program, input=_at("x", name="my-x")))
    assert [note.field for note in made.notes] == ["input.pfs.name"]


def test_each_folder_that_a_glob_of_all_depths_matches_is_told() -> None:
    (note,) = import_specs(spec_with(input={"pfs": {"repo": "photos", "glob": "/**"}})).notes
    assert f"{note.field}: {note.fate}" == (
        "input.pfs.glob: only files are parts, in Pachyderm also folders that match"
    )


def test_an_input_without_a_glob_is_told() -> None:
    made = import_specs(spec_with(input={"pfs": {"repo": "photos"}}))
    assert [f"{note}" for note in made.notes] == [
        "a.input.pfs.glob: is missing, so the program gets all files at once (Pachyderm refuses it); "
        "if files are parts, set split"
    ]


def test_the_variable_of_a_group_is_its_folder_which_is_told() -> None:
    group = {"group": [_at("x", glob="/(*)/*")]}
    made = import_specs(spec_with(transform={"image": "team/a:1", "cmd": ["sh"], "stdin": ["ls $x"]}, input=group))
    assert [f"{note.field}: {note.fate}" for note in made.notes] == [
        "input.group[0].pfs.name: its variable has the folder of the group, in Pachyderm one of the files"
    ]
