"""Pachyderm's specs as pipelines: those of its public examples, and what each field becomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cli import __main__ as commands
from cli.pachyderm import convert, text, without_equal
from cli.pachyderm.convert import Imported
from cli.pachyderm.spec import Spec
from cli.pachyderm.stage import Choice
from embedded.fault import Fault
from tests.support import counts
from tests.support.faults import faults_of
from workloads.settings.pipeline import PipelineSettings

SHAPES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "shapes.yaml").read_text())
_STACK: dict[str, Any] = {
    "cluster": {"kind": "existing", "context": "team"},
    "nodeGroups": {"gpus": {"accelerator": "t4", "perNode": 1, "min": 2, "max": 2}},
    "volumes": {"data": {"sizeGib": 10, "backend": {"kind": "nfs", "server": "nas.example", "folder": "/data"}}},
    "queues": {"research": {"gpus": {"t4": 2}}},
}


def _imported(*specs: dict[str, Any], choice: Choice = Choice("research", "t4"), **more: Any) -> Imported:  # noqa: B008
    return convert.convert([Spec.model_validate(one) for one in specs], choice, **more)


def _tree(made: Imported) -> dict[str, Any]:
    """The settings as they are written, in a stack."""
    datasets = {name: {"volume": "data"} for name in made.datasets}
    config = yaml.safe_load(text.settings(made, {"datasets": datasets}))["config"]
    return {**_STACK, **{key.removeprefix("tensorplane:"): value for key, value in config.items()}}


def _spec(**more: Any) -> dict[str, Any]:
    pfs = {"pfs": {"repo": "photos", "glob": "/*"}}
    return {"pipeline": {"name": "a"}, "transform": {"image": "team/a:1", "cmd": ["a"]}, "input": pfs, **more}


def _stage(*specs: dict[str, Any], name: str = "a") -> dict[str, Any]:
    (workload,) = _imported(*specs).workloads.values()
    found: dict[str, Any] = workload["stages"][name]
    return found


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: str(shape["like"]))
def test_specs_of_the_public_examples_become_pipelines_that_pass_the_checks(shape: dict[str, Any]) -> None:
    made = _imported(*shape["specs"])
    assert {name: list(one["stages"]) for name, one in made.workloads.items()} == shape["pipelines"]
    assert sorted(f"{note.pipeline}.{note.field}" for note in made.notes) == sorted(shape["notes"])
    assert faults_of(_tree(made)) == []


def test_stages_read_what_the_image_expects_where_it_expects_it() -> None:
    assert _stage(_spec(datumTimeout="1m30s", datumTries=1, parallelismSpec={"constant": 8})) == {
        "image": "team/a:1",
        "command": ["a"],
        "parallel": 8,
        "retries": 0,
        "timeoutSeconds": 90,
        "reprocess": "new",
        "inputs": {"photos": {"dataset": "photos", "split": "directory", "path": "/pfs/photos"}},
        "output": "a",
        "outputPath": "/pfs/out",
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"reprocess": "new"}),
        ({"reprocessSpec": "until_success"}, {"reprocess": "new"}),
        ({"reprocess": True}, {}),
        ({"reprocessSpec": "every_job"}, {"cache": False}),
    ],
)
def test_an_update_leaves_results_of_datums_that_are_done_unless_the_spec_says_otherwise(
    given: dict[str, Any], expected: dict[str, Any]
) -> None:
    stage = _stage(_spec(**given))
    assert {key: value for key, value in stage.items() if key in ("cache", "reprocess")} == expected


@pytest.mark.parametrize(
    ("glob", "split"),
    [("/", None), ("/*", "directory"), ("/*.csv", "directory"), ("/**", "file"), ("/*/*", "file"), ("/a.csv", None)],
)
def test_a_glob_is_a_split(glob: str, split: str | None) -> None:
    stage = _stage(_spec(input={"pfs": {"repo": "photos", "glob": glob}}))
    assert stage["inputs"]["photos"].get("split") == split


def test_inputs_come_together_as_their_spec_says() -> None:
    def pfs(repo: str, **more: Any) -> dict[str, Any]:
        return {"pfs": {"repo": repo, "glob": "/*", **more}}

    assert _stage(_spec(input={"cross": [pfs("x"), pfs("y")]}))["join"] == "cross"
    assert "join" not in _stage(_spec(input={"cross": [pfs("x", glob="/"), pfs("y")]}))
    joined = [pfs(repo, glob=f"/(*).{repo}", joinOn="$1") for repo in ("x", "y")]
    stage = _stage(_spec(input={"cross": [{"join": joined}, pfs("z")]}))
    assert stage["join"] == "name"
    assert {name: one.get("split") for name, one in stage["inputs"].items()} == {
        "x": "directory",
        "y": "directory",
        "z": None,
    }
    crossed = _imported(_spec(input={"cross": [{"union": [pfs("x"), pfs("y")]}, pfs("z", glob="/")]}))
    assert [sorted(one["inputs"]) for one in crossed.workloads["a"]["stages"].values()] == [
        ["x", "z"],
        ["y", "z"],
        ["a-1", "a-2"],
    ]


def _joined(one: str, two: str, on: str = "$1") -> dict[str, Any]:
    members = [{"pfs": {"repo": repo, "glob": glob, "joinOn": on}} for repo, glob in (("x", one), ("y", two))]
    return _spec(input={"join": members})


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
    made = _imported(_joined(one, two, on))
    stage = made.workloads["a"]["stages"]["a"]
    assert [(each["split"], each["key"]) for each in stage["inputs"].values()] == found
    assert (stage["join"], [f"{note}" for note in made.notes], faults_of(_tree(made))) == ("name", [], [])


def test_a_join_of_files_in_folders_combines_them_and_says_what_folders_are() -> None:
    made = _imported(_joined("/(*)/*", "/(*).json"))
    inputs = made.workloads["a"]["stages"]["a"]["inputs"]
    assert {name: (one["split"], one["key"]) for name, one in inputs.items()} == {
        "x": ("file", "(*)/*"),
        "y": ("directory", "(*).json"),
    }
    assert [f"{note.field}: {note.fate}" for note in made.notes] == [
        "input.join[0].pfs.glob: each file is a part; in Pachyderm, folders that match are parts, too"
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
    made = _imported(_joined(one, two, on))
    assert "input.join.joinOn" in [note.field for note in made.notes]
    assert not any("key" in each or "split" in each for each in made.workloads["a"]["stages"]["a"]["inputs"].values())


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
    made = _imported(_spec(input=given))
    assert [f"{note}" for note in made.notes if note.field == field] == [
        f"a.{field}: has a {nested} in it, whose parts have no equal, so the program gets all files at once; "
        "make what is nested a pipeline of its own, which this one reads"
    ]
    for stage in made.workloads["a"]["stages"].values():
        assert not any("key" in one or "split" in one for one in stage["inputs"].values())
        assert "join" not in stage
    assert faults_of(_tree(made)) == []


def test_a_join_with_a_union_is_a_join_with_each_of_its_members() -> None:
    made = _imported(_spec(input={"join": [{"union": [_at("x", name="n"), _at("y", name="n")]}, _at("z")]}))
    found = made.workloads["a"]["stages"]
    assert [
        [(one["dataset"], one.get("key")) for one in found[name]["inputs"].values()] for name in ("a-1", "a-2")
    ] == [[("x", "(*)"), ("z", "(*)")], [("y", "(*)"), ("z", "(*)")]]
    assert [note.field for note in made.notes] == ["input.union"]


def test_a_join_or_group_of_one_input_is_that_input() -> None:
    joined = _imported(_spec(input={"join": [_at("x", joinOn="k")]}))
    assert joined.workloads["a"]["stages"]["a"]["inputs"]["x"].get("split") == "directory"
    crossed = _imported(_spec(input={"cross": [{"group": [_at("x")]}, {"join": [_at("y"), _at("z")]}]}))
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
    with pytest.raises(Fault) as raised:
        _imported(_spec(input=given))
    assert raised.value.lines == (f"a.{problem}; set one of pfs, cron, cross, join, group, union",)


def test_an_unknown_field_of_any_depth_in_the_input_is_told() -> None:
    given = {"cross": [{**_at("x", trigger={"commits": 2, "color": "red"}), "limit": 3}]}
    assert {note.field for note in _imported(_spec(input=given)).notes} == {
        "input.cross[0].limit",
        "input.cross[0].pfs.trigger.color",
    }


def test_a_name_that_no_variable_can_have_is_told_where_the_program_reads_it() -> None:
    program = {"image": "team/a:1", "cmd": ["python3", "-c", "import os; os.environ['my-x']"]}
    made = _imported(_spec(transform=program, input=_at("x", name="my-x")))
    assert [note.field for note in made.notes] == ["input.pfs.name"]


def test_each_folder_that_a_glob_of_all_depths_matches_is_told() -> None:
    (note,) = _imported(_spec(input={"pfs": {"repo": "photos", "glob": "/**"}})).notes
    assert f"{note.field}: {note.fate}" == (
        "input.pfs.glob: each file is a part; in Pachyderm, folders that match are parts, too"
    )


def test_an_input_without_a_glob_is_told() -> None:
    made = _imported(_spec(input={"pfs": {"repo": "photos"}}))
    assert [f"{note}" for note in made.notes] == [
        "a.input.pfs.glob: is missing, which Pachyderm refuses; here the program gets all files at once; "
        "if files are parts, set split"
    ]


def test_branches_of_one_repo_stay_apart() -> None:
    def read(name: str, repo: str, **more: str) -> dict[str, Any]:
        return {"pfs": {"name": name, "repo": repo, "glob": "/", **more}}

    both = _spec(input={"cross": [read("m", "x"), read("n", "x", branch="main"), read("o", "x", branch="main-2")]})
    made = _imported(both, _spec(pipeline={"name": "b"}, input=read("r", "a", branch="main")))
    inputs = made.workloads["a"]["stages"]["a"]["inputs"]
    assert [one.get("branch") for one in inputs.values()] == [None, "main-3", "main-2"]
    assert made.workloads["b"]["stages"]["b"]["inputs"]["r"]["branch"] == "main-3"
    assert [f"{note}" for note in made.notes] == [
        f"{where}.branch: main is main-3 here, because main is what master becomes; commit to main-3"
        for where in ("a.input.cross[1].pfs", "b.input.pfs")
    ]
    assert faults_of(_tree(made)) == []


def test_a_pipeline_that_writes_main_is_read_there() -> None:
    reader = _spec(pipeline={"name": "b"}, input={"pfs": {"repo": "a", "branch": "main", "glob": "/"}})
    made = _imported(_spec(outputBranch="main"), reader)
    assert made.workloads["b"]["stages"]["b"]["inputs"]["a"].get("branch") is None
    assert made.notes == []


def test_an_input_reads_the_branch_of_its_trigger() -> None:
    given = {"repo": "x", "glob": "/", "branch": "late", "trigger": {"branch": "staging", "commits": 3}}
    made = _imported(_spec(input={"pfs": given}))
    assert made.workloads["a"]["stages"]["a"]["inputs"]["x"]["branch"] == "staging"
    assert made.workloads["a"]["triggers"] == {"x-staging": {"datasets": ["x@staging"], "versions": 3}}
    assert [f"{note}" for note in made.notes] == [
        "a.input.pfs.branch: left out: its trigger moves it to staging, which the input reads; "
        "if others read it, let them read the same"
    ]


def test_a_repo_with_the_name_that_another_gets_stays_apart() -> None:
    read = [("x", "default"), ("x", "p"), ("p-x", "default")]
    leaves = [{"name": f"n{at}", "repo": repo, "project": of, "glob": "/"} for at, (repo, of) in enumerate(read)]
    made = _imported(_spec(input={"cross": [{"pfs": leaf} for leaf in leaves]}))
    inputs = made.workloads["a"]["stages"]["a"]["inputs"]
    assert [one["dataset"] for one in inputs.values()] == ["x", "p-x-2", "p-x"]


def test_one_name_in_two_projects_is_two_datasets() -> None:
    first, other = {"repo": "x", "glob": "/"}, {"repo": "x", "name": "y", "project": "p", "glob": "/"}
    made = _imported(_spec(input={"cross": [{"pfs": first}, {"pfs": other}]}))
    assert made.datasets == ["x", "p-x", "a"]


def test_names_that_are_no_labels_get_the_nearest_and_stay_apart() -> None:
    first = _spec(pipeline={"name": "My_Stage"}, input={"pfs": {"repo": "RAW_DATA", "glob": "/"}})
    second = _spec(pipeline={"name": "my-stage"}, input={"pfs": {"repo": "My_Stage", "glob": "/"}})
    (workload,) = _imported(first, second).workloads.values()
    assert {name: one["inputs"] for name, one in workload["stages"].items()} == {
        "my-stage-2": {"raw-data": {"dataset": "raw-data", "path": "/pfs/RAW_DATA"}},
        "my-stage": {"my-stage": {"dataset": "my-stage-2", "path": "/pfs/My_Stage"}},
    }


def test_a_branch_that_somebody_moves_stays_one() -> None:
    drafts = _spec(outputBranch="dev")
    late = _spec(pipeline={"name": "late"}, input={"pfs": {"repo": "a", "branch": "master", "glob": "/"}})
    soon = _spec(pipeline={"name": "soon"}, input={"pfs": {"repo": "a", "branch": "dev", "glob": "/"}})
    made = _imported(drafts, late, soon)
    assert made.workloads["late"]["stages"]["late"]["inputs"]["a"]["branch"] == "master"
    assert "branch" not in made.workloads["soon"]["stages"]["soon"]["inputs"]["a"]
    assert list(made.workloads["soon"]["stages"]) == ["a", "soon"]


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        (None, {"new": {}}),
        ({"size": "3KB"}, {"photos": {"datasets": ["photos"], "mib": 0.002861}}),
        ({"size": "1.5mib"}, {"photos": {"datasets": ["photos"], "mib": 1.430511}}),
        ({"commits": 5}, {"photos": {"datasets": ["photos"], "versions": 5}}),
        ({"cronSpec": "@daily"}, {"photos": {"schedule": "0 0 * * *"}}),
        ({"cronSpec": "@daily", "commits": 2, "all": True}, {"photos": {"schedule": "0 0 * * *"}}),
        (
            {"commits": 5, "rateLimitSpec": "0 3 * * *"},
            {"photos": {"datasets": ["photos"], "versions": 5}, "photos-2": {"schedule": "0 3 * * *"}},
        ),
    ],
)
def test_a_trigger_of_an_input_is_one_of_the_pipeline(trigger: Any, expected: dict[str, Any]) -> None:
    made = _imported(_spec(input={"pfs": {"repo": "photos", "glob": "/*", "trigger": trigger}}))
    assert made.workloads["a"]["triggers"] == expected
    assert (made.notes, faults_of(_tree(made))) == ([], [])


def test_a_trigger_of_what_another_stage_makes_says_how_a_branch_is_moved() -> None:
    trigger = {"pfs": {"repo": "a", "glob": "/", "trigger": {"commits": 5}}}
    (note,) = _imported(_spec(), _spec(pipeline={"name": "b"}, input=trigger)).notes
    assert note.field == "input.pfs.trigger"
    assert note.remedy.endswith("`tensorplane data rollback --branch` moves")


def test_an_input_that_propagates_nothing_starts_no_run() -> None:
    quiet = {"pfs": {"repo": "y", "glob": "/", "propagationSpec": {"never": True}}}
    made = _imported(_spec(input={"cross": [{"pfs": {"repo": "x", "glob": "/"}}, quiet]}))
    assert made.workloads["a"]["triggers"] == {"new": {"datasets": ["x"]}}


def test_resources_are_what_is_reserved_and_the_limit_of_memory() -> None:
    asked = {"resourceRequests": {"cpu": 0.5, "memory": "1Gi"}, "resourceLimits": {"cpu": 2, "memory": "2Gi"}}
    assert _stage(_spec(**asked))["resources"] == {"cpus": 0.5, "memoryGib": 2.0}
    stage = _stage(_spec(resourceLimits={"gpu": {"type": "nvidia.com/gpu", "number": 2}}))
    assert (stage["resources"], stage["accelerator"], stage["queue"]) == ({"gpus": 2}, "t4", "research")
    (amd,) = _imported(_spec(resourceLimits={"gpu": {"type": "amd.com/gpu", "number": 1}})).notes
    assert f"{amd}" == "a.resourceLimits.gpu.type: amd.com/gpu is left out; use NVIDIA's GPUs, with resources.gpus"


@pytest.mark.parametrize(
    ("requests", "limits", "fields"),
    [
        ({"cpu": 1, "memory": "1Gi"}, {"cpu": 1, "memory": "1024Mi"}, []),
        ({}, {"cpu": 2, "memory": "1Gi"}, []),
        ({"cpu": 1, "memory": "1Gi"}, {"cpu": 2, "memory": "2Gi"}, ["resourceLimits.cpu", "resourceRequests.memory"]),
        ({"memory": "1Gi"}, {}, ["resourceRequests.memory"]),
    ],
)
def test_requests_and_limits_that_differ_are_told(requests: Any, limits: Any, fields: list[str]) -> None:
    made = _imported(_spec(resourceRequests=requests, resourceLimits=limits))
    assert [note.field for note in made.notes] == fields
    assert faults_of(_tree(made)) == []


def test_more_pods_than_a_stage_can_have_are_told() -> None:
    made = _imported(_spec(parallelismSpec={"constant": 3000}))
    assert made.workloads["a"]["stages"]["a"]["parallel"] == 1000
    assert [note.field for note in made.notes] == ["parallelismSpec.constant"]


@pytest.mark.parametrize(("tries", "retries"), [(0, None), (-1, None), (3, None), (1, 0), (7, 6)])
def test_tries_that_are_none_are_pachyderms_default(tries: int, retries: int | None) -> None:
    assert _stage(_spec(datumTries=tries)).get("retries") == retries


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"repo": "y"}, True),
        ({"repo": "photos"}, True),
        ({"repo": "y", "trigger": {"commits": 5}}, True),
        ({"repo": "photos", "trigger": {"commits": 5}}, False),
        ({"repo": "y", "propagationSpec": {"never": True}}, False),
    ],
)
def test_a_run_that_another_input_starts_reads_the_newest_commit_which_is_told(
    other: dict[str, Any], told: bool
) -> None:
    triggered = {"pfs": {"repo": "photos", "glob": "/", "trigger": {"commits": 5}}}
    made = _imported(_spec(input={"cross": [triggered, {"pfs": {"name": "z", "glob": "/", **other}}]}))
    assert ("input.cross[0].pfs.trigger" in [note.field for note in made.notes]) == told
    assert faults_of(_tree(made)) == []


def test_a_trigger_without_a_condition_is_told() -> None:
    made = _imported(_spec(input={"pfs": {"repo": "photos", "glob": "/*", "trigger": {"branch": "new"}}}))
    assert [note.field for note in made.notes] == ["input.pfs.trigger"]


def test_the_variable_of_a_group_is_its_folder_which_is_told() -> None:
    group = {"group": [_at("x", glob="/(*)/*")]}
    made = _imported(_spec(transform={"image": "team/a:1", "cmd": ["sh"], "stdin": ["ls $x"]}, input=group))
    assert [f"{note.field}: {note.fate}" for note in made.notes] == [
        "input.group[0].pfs.name: its variable has the folder of the group, in Pachyderm one of the files"
    ]


def test_gpus_without_a_queue_are_told() -> None:
    made = _imported(_spec(resourceLimits={"gpu": {"number": 1}}), choice=Choice())
    assert [f"{note}" for note in made.notes] == [
        "a.resourceLimits.gpu: GPUs need a queue, and specs have none; import with --queue, or set queue"
    ]


def test_every_field_of_a_spec_has_an_equal_or_a_note() -> None:
    def fields(model: Any, at: str = "") -> list[str]:
        found = []
        for name, field in model.model_fields.items():
            path = f"{at}{field.alias or name}"
            kinds = getattr(field.annotation, "__args__", (field.annotation,))
            inner = [one for one in kinds if hasattr(one, "model_fields")]
            found += fields(inner[0], f"{path}.") if inner and path != "input" else [path]
        return found

    known = {*without_equal.CONVERTED, *without_equal.WITHOUT_EQUAL}
    assert [path for path in fields(Spec) if not any(f"{path}.".startswith(f"{one}.") for one in known)] == []


def test_every_field_without_an_equal_has_a_note_that_says_what_to_do() -> None:
    made = _imported(
        _spec(
            pipeline={"name": "a", "project": {"name": "p"}},
            egress={"URL": "s3://bucket/folder"},
            tolerations=[{"key": "gpu"}],
            salt="abc",
            podPatch="[]",
            jobTimeout="1h",
            colour="red",
            metadata={"labels": {"a": "b"}},
        )
    )
    fields = {note.field for note in made.notes}
    assert fields == {
        "pipeline.project",
        "egress.URL",
        "tolerations",
        "salt",
        "podPatch",
        "jobTimeout",
        "colour",
        "metadata.labels",
    }
    assert all(note.fate and note.remedy for note in made.notes)


def test_failed_datums_may_be_skipped() -> None:
    skipping = {"image": "team/a:1", "cmd": ["a"], "errCmd": ["true"]}
    assert _stage(_spec(transform=skipping))["mayFail"] == 1_000_000
    (note,) = _imported(_spec(transform={**skipping, "errCmd": ["sh", "mend.sh"]})).notes
    assert note.field == "transform.errCmd"


def test_two_pipelines_have_no_common_name() -> None:
    other = _spec(pipeline={"name": "b"})
    with pytest.raises(Fault, match="--name: the specs are 2 pipelines that do not feed each other"):
        _imported(_spec(), other, name="both")
    assert list(_imported(_spec(), name="mine", taken=["mine"]).workloads) == ["mine-2"]


def test_the_command_prints_settings_and_on_standard_error_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(_spec(description="Makes\n a.", salt="x")))
    assert commands.main(["import", "pachyderm", str(tmp_path / "a.json")]) == 0
    shown = capsys.readouterr()
    config = yaml.safe_load(shown.out)["config"]
    assert config["tensorplane:datasets"] == {"photos": {"volume": "data"}, "a": {"volume": "data"}}
    assert config["tensorplane:volumes"] == {"data": {"sizeGib": 100}}
    assert "        # Makes a.\n        a:\n" in shown.out
    assert shown.err.splitlines() == [
        "a.salt: left out: results are kept by stage and input; to work on all inputs again, set reprocess: all",
        "1 pipeline of 1 stage; 1 field without an equal; no mistakes found with Pulumi.dev.yaml",
    ]


def test_what_the_checks_refuse_is_told_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text(json.dumps(_spec(transform={"image": "team/a:1"})))
    assert commands.main(["import", "pachyderm", str(tmp_path / "a.json"), "--volume", "models"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert "tensorplane:workloads.a.stages.a.command: required setting is missing" in lines[1]
    assert lines[-1].endswith("1 mistake to correct")


_names = st.sampled_from(["a", "b", "c", "B", "x_y", "1z", "a-1"])
_globs = st.sampled_from(["/", "/*", "/**", "/*/*", "/(*).csv", "/(*)/*", "/*_(*).csv", "/{a,b}", "/a.csv", "/a/*.b"])
_pfs = st.fixed_dictionaries(
    {"repo": _names, "glob": _globs},
    optional={
        "name": _names,
        "branch": st.sampled_from(["master", "dev"]),
        "project": st.sampled_from(["default", "p"]),
        "joinOn": st.sampled_from(["$1", "$2"]),
        "groupBy": st.just("$1"),
        "trigger": st.fixed_dictionaries(
            {}, optional={"commits": st.just(2), "size": st.just("1K"), "all": st.booleans()}
        ),
    },
).map(lambda pfs: {"pfs": pfs})
_cron = st.just({"cron": {"name": "tick", "spec": "@every 1m"}})
_inputs = st.recursive(
    _pfs | _cron,
    lambda inner: st.tuples(
        st.sampled_from(["cross", "join", "group", "union"]), st.lists(inner, min_size=1, max_size=3)
    ).map(lambda made: {made[0]: made[1]}),
    max_leaves=5,
)


@pytest.mark.counted
@settings(max_examples=counts.of(quick=20, nightly=2000))
@given(st.lists(st.tuples(_names, _inputs), min_size=1, max_size=3, unique_by=lambda one: one[0]))
def test_whatever_a_spec_reads_comes_out_as_settings_that_are_valid(pipelines: list[tuple[str, Any]]) -> None:
    try:
        made = _imported(*(_spec(pipeline={"name": name}, input=read) for name, read in pipelines))
    except Fault as fault:
        assert all("several inputs have the name" in line for line in fault.lines)
        return
    for workload in made.workloads.values():
        stages = {key: value for key, value in workload.items() if key != "kind"}
        PipelineSettings.model_validate(stages)
        for stage in stages["stages"].values():
            split = [one for one in stage["inputs"].values() if "split" in one]
            assert ("join" in stage) == (len(split) > 1)
    used = {name for one in made.workloads.values() for stage in one["stages"].values() for name in _used(stage)}
    assert used <= {*made.datasets}


def _used(stage: dict[str, Any]) -> list[str]:
    return [stage["output"], *(one["dataset"] for one in stage["inputs"].values())]
