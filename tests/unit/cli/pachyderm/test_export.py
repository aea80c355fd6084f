"""Pipelines as Pachyderm's specs, for those who stay."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tensorplane.cli import __main__ as commands
from tensorplane.cli.pachyderm import convert, creation, export, glob_syntax, key_globs, reading
from tensorplane.cli.pachyderm.note import Note
from tensorplane.cli.pachyderm.spec import Spec
from tensorplane.cli.pachyderm.stage import Choice
from tensorplane.cli.stack_config import load
from tensorplane.workloads.pipeline.join_key import JoinKey
from tensorplane.workloads.pipeline.settings import PipelineSettings
from tests.support import counts
from tests.support.rendering import PROJECT

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
        ("file", {"endings": [".tar.gz", ".tgz"]}, "/(?**){.tar.gz,.tgz}", "$1"),
        ("file", {"endings": [".json"]}, "/(?**).json", "$1"),
        ("directory", {"endings": [".raw"]}, "/(?*).raw", "$1"),
        ("directory", {"endings": [".a", ".b"]}, "/(?*){.a,.b}", "$1"),
        ("file", {"endings": [".a*", ".b,c"]}, r"/(?**){.a\*,.b\,c}", "$1"),
        ("file", "*(*)-?(?)+(?).c@v|!", r"/*@(*)-?@(?)\+(?).c\@v\|\!", "$1/$2/$3"),
        ("file", r"a[!b](*)[c!][]\[]\+.txt", r"/a[!b/](*)[c\!][\]\[]\+.txt", "$1"),
        ("file", {"endings": [".(1)[2]"]}, r"/(?**).\(1\)\[2\]", "$1"),
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
    ("triggers", "expected"),
    [
        ({"some": {}}, {"branch": "new"}),
        ({"some": {"versions": 3}}, {"trigger": {"branch": "new", "commits": 3}}),
        ({"some": {"mib": 0.5}}, {"trigger": {"branch": "new", "size": "524288B"}}),
        ({"some": {"schedule": "0 2 * * *"}}, {"trigger": {"branch": "new", "cronSpec": "0 2 * * *"}}),
        ({"other": {"versions": 3, "datasets": ["raw"]}}, {"branch": "new", "propagationSpec": {"never": True}}),
        ({"some": {}, "night": {"schedule": "0 2 * * *"}}, {"branch": "new"}),
        ({"some": {"versions": 3}, "each": {"datasets": ["raw@new"]}}, {"branch": "new"}),
        (
            {"some": {"versions": 3}, "few": {"versions": 2}, "large": {"mib": 1}},
            {"trigger": {"branch": "new", "size": "1048576B", "commits": 2}},
        ),
    ],
)
def test_a_trigger_is_one_of_the_inputs_that_no_stage_makes(triggers: Any, expected: Any) -> None:
    made, _ = _specs(triggers=triggers)
    assert made["outlines"]["input"]["pfs"] == {"name": "photos", "repo": "raw", "glob": "/*", **expected}
    assert "trigger" not in made["pairs"]["input"]["cross"][0]["join"][0]["pfs"]


@pytest.mark.parametrize(
    ("triggers", "line"),
    [
        (
            {"some": {"versions": 3}},
            "photos.triggers.some.versions: Pachyderm counts each input by itself, not all together; set less",
        ),
        (
            {"a": {"schedule": "0 2 * * *"}, "b": {"schedule": "0 3 * * *"}},
            "photos.triggers: Pachyderm takes one schedule or other conditions, so a schedule is left out; "
            "use one of them",
        ),
    ],
)
def test_triggers_that_pachyderm_has_otherwise_are_told_once(triggers: Any, line: str) -> None:
    _, notes = _specs(triggers=triggers)
    assert [f"{note}" for note in notes if "triggers" in f"{note}"] == [line]


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
    monkeypatch.setattr("tensorplane.cli.stack_config.load", lambda _: example)
    assert commands.main(["export", "pachyderm"]) == 0
    shown = capsys.readouterr()
    names = [Spec.model_validate(json.loads(one)).name for one in shown.out.split("---\n")]
    assert names == ["prepared", "model"]
    assert shown.err.endswith("repos: no spec writes raw; create each first with `pachctl create repo NAME`\n")
    assert "photos.stages.train.queue: left out" in shown.err
    assert commands.main(["export", "pachyderm", "photo"]) == 1
    assert capsys.readouterr().err == "photo: is no pipeline; choose one of photos (did you mean photos?)\n"


_PIECES = ["a", "b", ".", "*", "?", "**", "[!a]", "[a!]", "[a-c]", "{a,b.}", "(*)", "(?)", "(**)", "(a)", *"+@|!"]
_ENDINGS = [".a", ".b", ".b.a", ".+", ".a|b", ".{a}"]


def _expression(nodes: Sequence[glob_syntax.Node]) -> str:
    """The regular expression of a glob pattern in Pachyderm, where a slash can be one of several characters."""
    wild = {"*": "[^/]*", "**": ".*", "?": "[^/]"}
    found = ""
    for node in nodes:
        if isinstance(node, glob_syntax.Group):
            found += f"({'' if node.number else '?:'}{'|'.join(map(_expression, node.ways))})"
        elif isinstance(node, glob_syntax.OneOf):
            found += f"[{'^' * node.negated}{re.escape(''.join(sorted(node.characters)))}{'/' * node.negated}]"
        else:
            found += re.escape(node.text) if isinstance(node, glob_syntax.Text) else wild[node.sign]
    return found


@pytest.mark.counted
def test_exported_globs_take_the_keys_that_runs_take() -> None:
    draw = random.Random(f"keys {counts.shard()}")
    compared = 0
    for _ in range(counts.of(quick=400, nightly=20_000)):
        pattern = "".join(draw.choices(_PIECES, k=draw.randint(1, 5)))
        chosen = draw.choice([pattern, {"endings": draw.sample(_ENDINGS, draw.randint(1, 3))}])
        try:
            key = JoinKey.model_validate(chosen)
        except ValidationError:
            continue
        by = draw.choice(["directory", "file"])
        if key_globs.differs(key, by):
            continue
        glob = re.compile(_expression(glob_syntax.read(key_globs.glob(key, by))), re.DOTALL)
        for _ in range(10):
            names = ["".join(draw.choices("aab.+@|!c{}", k=draw.randint(1, 6))) for _ in range(draw.randint(1, 2))]
            name = "/".join(names) if by == "file" else names[0]
            found = [expression.fullmatch(at) for expression, at in ((re.compile(key.regex), name), (glob, f"/{name}"))]
            here, there = (one and one.groups() for one in found)
            assert here == there, (chosen, name)
            compared += found[0] is not None
    assert compared


@pytest.mark.parametrize(
    ("split", "key", "problem"),
    [
        (
            "file",
            {"endings": [".gz", ".tar.gz"]},
            "the key of NAME.tar.gz is NAME.tar in Pachyderm, because .tar.gz ends with .gz; "
            "set key to another pattern",
        ),
        ("file", "a[.-0](*)", "in Pachyderm, its characters include a slash; set key to another pattern"),
        ("file", None, "by default, a file without an ending in its name finds no partner in Pachyderm; set key"),
        ("directory", None, "by default, the ending of a file at the top is part of its key in Pachyderm; set key"),
        ("directory", "(*).csv", None),
    ],
)
def test_keys_that_pachyderm_takes_otherwise_are_told(split: str, key: Any, problem: str | None) -> None:
    inputs = {name: {"dataset": "raw", "split": split, **({"key": key} if key else {})} for name in ("x", "y")}
    _, notes = _specs({"match": {**_STAGES["match"], "inputs": inputs}})
    found = [f"{note}" for note in notes if note.field.endswith(".key")]
    assert found == [f"photos.stages.match.inputs.{name}.key: {problem}" for name in ("x", "y") if problem]


def test_files_of_a_join_are_at_any_depth_and_folders_too_which_is_told() -> None:
    made, notes = _specs()
    assert [one["pfs"]["glob"] for one in made["pairs"]["input"]["cross"][0]["join"]] == ["/(**?).*"] * 2
    assert [f"{note}" for note in notes if note.field == "inputs.x.split"] == [
        "photos.stages.match.inputs.x.split: folders that match the glob are datums, too; give them other names"
    ]


def test_a_branch_with_the_name_of_pachyderms_default_gets_another() -> None:
    inputs = {"x": {"dataset": "raw", "branch": "master"}, "y": {"dataset": "raw"}}
    made, notes = _specs({"match": {**_STAGES["match"], "inputs": inputs, "join": None}})
    assert [one["pfs"]["branch"] for one in made["pairs"]["input"]["cross"]] == ["master-2", "master"]
    assert [f"{note}" for note in notes if note.field == "inputs.x.branch"] == [
        "photos.stages.match.inputs.x.branch: master is master-2 there, because master is what main becomes; "
        "commit to master-2"
    ]
