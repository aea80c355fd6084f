"""Pipelines as Pachyderm's specs, for those who stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import __main__ as commands
from cli.pachyderm import convert, creation, export, reading
from cli.pachyderm.note import Note
from cli.pachyderm.spec import Spec
from cli.pachyderm.stage import Choice
from cli.stack_config import load
from tests.support.rendering import PROJECT
from workloads.settings.pipeline import PipelineSettings

_STAGES: dict[str, Any] = {
    "draw": {
        "image": "team/draw:2",
        "command": ["draw"],
        "inputs": {"photos": {"dataset": "raw", "branch": "new", "split": "directory", "path": "/pfs/photos"}},
        "output": "outlines",
        "outputPath": "/pfs/out",
        "params": {"SIZE": 7},
        "parallel": 8,
        "retries": 0,
        "timeoutSeconds": 90,
        "cache": False,
    },
    "match": {
        "image": "team/match:1",
        "command": ["match"],
        "inputs": {
            "x": {"dataset": "outlines", "split": "file"},
            "y": {"dataset": "raw", "split": "file"},
            "all": "raw",
        },
        "join": "name",
        "output": "pairs",
        "resources": {"cpus": 2, "memoryGib": 4, "gpus": 2},
    },
}


def _specs(stages: Any = _STAGES, **more: Any) -> tuple[dict[str, dict[str, Any]], list[Note]]:
    settings = PipelineSettings.model_validate({"stages": stages, "triggers": {"new": {}}, **more})
    notes: list[Note] = []
    return {one["pipeline"]["name"]: one for one in export.specs("photos", settings, notes)}, notes


def test_a_stage_is_a_spec_with_the_name_of_its_dataset() -> None:
    made, _ = _specs()
    assert made["outlines"] == {
        "pipeline": {"name": "outlines"},
        "transform": {"image": "team/draw:2", "cmd": ["draw"], "env": {"SIZE": "7"}},
        "input": {"pfs": {"name": "photos", "repo": "raw", "branch": "new", "glob": "/*"}},
        "resourceRequests": {"cpu": 1, "memory": "2048Mi"},
        "resourceLimits": {"memory": "2048Mi"},
        "datumTries": 1,
        "parallelismSpec": {"constant": 8},
        "datumTimeout": "90s",
        "reprocessSpec": "every_job",
    }
    assert made["pairs"]["resourceLimits"]["gpu"] == {"type": "nvidia.com/gpu", "number": 2}
    joined, all_files = made["pairs"]["input"]["cross"]
    assert [one["pfs"]["joinOn"] for one in joined["join"]] == ["$1", "$1"]
    assert all_files == {"pfs": {"name": "all", "repo": "raw", "branch": "master", "glob": "/"}}


@pytest.mark.parametrize(
    ("split", "key", "glob", "on"),
    [
        ("file", "*_(*)-[0-9].csv", "/*_(*)-[0-9].csv", "$1"),
        ("file", "(*)-(?).csv", "/(*)-(?).csv", "$1/$2"),
        ("file", {"endings": [".tar.gz", ".tgz"]}, "/(**){.tar.gz,.tgz}", "$1"),
        ("file", {"endings": [".json"]}, "/(**).json", "$1"),
        ("directory", {"endings": [".raw"]}, "/(*).raw", "$1"),
        ("directory", {"endings": [".a", ".b"]}, "/(*){.a,.b}", "$1"),
        ("file", {"endings": [".a*", ".b,c"]}, r"/(**){.a\*,.b\,c}", "$1"),
        ("file", {"endings": [".(1)[2]"]}, r"/(**).\(1\)\[2\]", "$1"),
    ],
)
def test_a_key_is_the_glob_that_captures_it(split: str, key: Any, glob: str, on: str) -> None:
    inputs = {name: {"dataset": "raw", "split": split, "key": key} for name in ("x", "y")}
    made, _ = _specs({"match": {**_STAGES["match"], "inputs": inputs}})
    assert [(one["pfs"]["glob"], one["pfs"]["joinOn"]) for one in made["pairs"]["input"]["join"]] == [(glob, on)] * 2


def test_a_program_finds_its_folders_by_links() -> None:
    made, _ = _specs()
    first, *words = made["pairs"]["transform"]["cmd"][2:]
    assert words == ["match"]
    assert first.splitlines() == [
        "mkdir -p /in",
        "ln -sfn /pfs/x /in/x",
        "ln -sfn /pfs/y /in/y",
        "ln -sfn /pfs/all /in/all",
        "ln -sfn /pfs/out /out",
        'exec "$0" "$@"',
    ]


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        ({"versions": 3}, {"commits": 3}),
        ({"mib": 0.5}, {"size": "524288B"}),
        ({"schedule": "0 2 * * *"}, {"cronSpec": "0 2 * * *"}),
        ({"versions": 3, "datasets": ["raw"]}, None),
    ],
)
def test_a_trigger_is_one_of_the_inputs_that_no_stage_makes(trigger: Any, expected: Any) -> None:
    made, _ = _specs(triggers={"some": trigger})
    assert made["outlines"]["input"]["pfs"].get("trigger") == expected
    assert "trigger" not in made["pairs"]["input"]["cross"][0]["join"][0]["pfs"]


def test_what_has_no_equal_is_told_with_what_to_do() -> None:
    own = {"queue": "research", "accelerator": "t4", "mayFail": 3, "server": "digits", "cache": True}
    stages = {"draw": {**_STAGES["draw"], **own}}
    _, notes = _specs(stages, triggers={"many": {"files": 10, "quietSeconds": 5}})
    assert {note.field for note in notes} == {
        "queue",
        "accelerator",
        "mayFail",
        "server",
        "reprocess",
        "files",
        "quietSeconds",
    }
    assert f"{notes[1]}" == "photos.stages.draw.queue: left out: Pachyderm has no queues; set a quota of its namespace"
    _, notes = _specs(triggers={})
    assert notes[0].field == "triggers"


@pytest.mark.parametrize(
    "instead", [{"job": {"strategy": {"kind": "single"}, "command": ["train"]}}, {"publish": "digits"}]
)
def test_a_stage_that_is_no_program_has_no_spec(instead: dict[str, Any]) -> None:
    made, (note,) = _specs({"train": {"inputs": {"photos": "raw"}, "output": "model", **instead}})
    assert (made, note.field) == ({}, *instead)


def test_an_update_skips_what_was_done_in_pachyderm_which_is_told_once() -> None:
    fields = [
        [note.field for note in _specs({name: {**stage, **more} for name, stage in _STAGES.items()})[1]]
        for more in ({"cache": True}, {"cache": True, "reprocess": "new"}, {"cache": False})
    ]
    assert [found.count("reprocess") for found in fields] == [1, 0, 0]


def test_specs_come_after_those_whose_output_they_read() -> None:
    stages = {
        "last": {"command": ["a"], "inputs": {"x": "middle", "y": "raw"}, "output": "last"},
        "middle": {"command": ["a"], "inputs": {"x": "first", "y": "labels"}, "output": "middle"},
        "first": {
            "command": ["a"],
            "inputs": {"x": "raw", "y": {"dataset": "last", "branch": "kept"}},
            "output": "first",
        },
        "other": {"command": ["a"], "inputs": {"x": "raw"}, "output": "other"},
    }
    made = list(_specs(stages)[0].values())
    assert [creation.written(one) for one in creation.ordered(made[1:])] == ["first", "middle", "other"]
    # A branch that somebody moves may lead back to an earlier stage.
    assert len(creation.ordered(made)) == len(made)
    assert creation.needed(made) == ["labels", "raw"]


def test_what_is_exported_can_be_imported_again(tmp_path: Path) -> None:
    made, _ = _specs()
    (tmp_path / "a.json").write_text("\n---\n".join(json.dumps(one) for one in made.values()))
    again = convert.convert(reading.read([tmp_path / "a.json"]), Choice())
    stages = again.workloads["pairs"]["stages"]
    assert stages["outlines"]["inputs"] == _STAGES["draw"]["inputs"]
    assert stages["outlines"]["timeoutSeconds"] == 90
    assert (stages["pairs"]["join"], stages["pairs"]["inputs"]["all"]["dataset"]) == ("name", "raw")
    assert again.workloads["pairs"]["triggers"] == {"new": {}}


def test_the_command_prints_the_specs_of_a_stack(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = load(PROJECT / "examples" / "pipeline.yaml")
    monkeypatch.setattr("cli.stack_config.load", lambda _: example)
    assert commands.main(["export", "pachyderm"]) == 0
    shown = capsys.readouterr()
    names = [Spec.model_validate(json.loads(one)).name for one in shown.out.split("---\n")]
    assert names == ["prepared", "model"]
    assert shown.err.endswith("repos: no spec writes raw; create each first with `pachctl create repo NAME`\n")
    assert "photos.stages.train.queue: left out" in shown.err
    assert commands.main(["export", "pachyderm", "photo"]) == 1
    assert capsys.readouterr().err == "photo: is no pipeline; choose one of photos (did you mean photos?)\n"
