"""Pachyderm's specs as pipelines: those of its public examples, and what each field becomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane import stack_file
from tensorplane.cli import __main__ as commands
from tensorplane.cli.pachyderm import text, unsupported
from tensorplane.cli.pachyderm.spec import Spec
from tensorplane.cli.pachyderm.stage import Choice
from tensorplane.core.errors import UserError
from tensorplane.workloads.pipeline.settings import PipelineSettings
from tests.support import counts
from tests.support.problems import problems_of
from tests.unit.cli.pachyderm.imported_specs import import_specs, spec_with, stage_of, tree_of

SHAPES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "shapes.yaml").read_text())


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: str(shape["like"]))
def test_specs_of_the_public_examples_become_pipelines_that_pass_the_checks(shape: dict[str, Any]) -> None:
    made = import_specs(*shape["specs"])
    assert {name: list(one["stages"]) for name, one in made.workloads.items()} == shape["pipelines"]
    assert sorted(f"{note.pipeline}.{note.field}" for note in made.notes) == sorted(shape["notes"])
    assert problems_of(tree_of(made)) == []


def test_stages_read_what_the_image_expects_where_it_expects_it() -> None:
    assert stage_of(spec_with(datumTimeout="1m30s", datumTries=1, parallelismSpec={"constant": 8})) == {
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
    stage = stage_of(spec_with(**given))
    assert {key: value for key, value in stage.items() if key in ("cache", "reprocess")} == expected


def test_a_reprocess_spec_that_is_none_is_told() -> None:
    made = import_specs(spec_with(reprocessSpec="every-job"))
    assert made.workloads["a"]["stages"]["a"]["reprocess"] == "new"
    assert [f"{note}" for note in made.notes] == [
        "a.reprocessSpec: 'every-job' is left out (Pachyderm refuses it); set cache: false to skip no part"
    ]


@pytest.mark.parametrize("name", ["PACH_JOB_ID", "PPS_PIPELINE_NAME", "PACHD_PEER_SERVICE_HOST", "photos_COMMIT"])
def test_variables_of_pachyderm_are_told(name: str) -> None:
    (note,) = import_specs(spec_with(transform={"image": "team/a:1", "cmd": ["sh", "-c", f"a --name ${name}"]})).notes
    assert f"{note}" == "a.transform.cmd: reads variables of Pachyderm, which are not set; use params"


def test_resources_are_what_is_reserved_and_the_limit_of_memory() -> None:
    asked = {"resourceRequests": {"cpu": 0.5, "memory": "1Gi"}, "resourceLimits": {"cpu": 2, "memory": "2Gi"}}
    assert stage_of(spec_with(**asked))["resources"] == {"cpus": 0.5, "memoryGib": 2.0}
    stage = stage_of(spec_with(resourceLimits={"gpu": {"type": "nvidia.com/gpu", "number": 2}}))
    assert (stage["resources"], stage["accelerator"], stage["queue"]) == ({"gpus": 2}, "t4", "research")
    (amd,) = import_specs(spec_with(resourceLimits={"gpu": {"type": "amd.com/gpu", "number": 1}})).notes
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
    made = import_specs(spec_with(resourceRequests=requests, resourceLimits=limits))
    assert [note.field for note in made.notes] == fields
    assert problems_of(tree_of(made)) == []


def test_more_pods_than_a_stage_can_have_are_told() -> None:
    made = import_specs(spec_with(parallelismSpec={"constant": 3000}))
    assert made.workloads["a"]["stages"]["a"]["parallel"] == 1000
    assert [note.field for note in made.notes] == ["parallelismSpec.constant"]


@pytest.mark.parametrize(("tries", "retries"), [(0, None), (-1, None), (3, None), (1, 0), (7, 6)])
def test_tries_that_are_none_are_pachyderms_default(tries: int, retries: int | None) -> None:
    assert stage_of(spec_with(datumTries=tries)).get("retries") == retries


def test_gpus_without_a_queue_are_told() -> None:
    made = import_specs(spec_with(resourceLimits={"gpu": {"number": 1}}), choice=Choice())
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

    known = {*unsupported.CONVERTED, *unsupported.WITHOUT_COUNTERPART}
    assert [path for path in fields(Spec) if not any(f"{path}.".startswith(f"{one}.") for one in known)] == []


def test_every_field_without_an_equal_has_a_note_that_says_what_to_do() -> None:
    made = import_specs(
        spec_with(
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
    assert stage_of(spec_with(transform=skipping))["mayFail"] == 1_000_000
    (note,) = import_specs(spec_with(transform={**skipping, "errCmd": ["sh", "mend.sh"]})).notes
    assert note.field == "transform.errCmd"


def test_texts_are_those_of_the_spec_to_pulumi(tmp_path: Path) -> None:
    words = ["sh", "-c", "1e3", "y", "lead\u0085er", "two\nlines\u0085"]
    about = "\x1b[1mbold\x1b[0m  # \u2028 no"
    transform = {"cmd": words, "env": {"RATE": "1e-4", "Y": "n"}}
    file = tmp_path / "Pulumi.t.yaml"
    file.write_text(text.settings(import_specs(spec_with(transform=transform, description=about)), {}), "utf-8")
    found = stack_file.read(file)
    stage = found.section("workloads")["a"]["stages"]["a"]
    assert (stage["command"], stage["params"]) == (words, transform["env"])
    assert not found.rewritten
    assert "# ?[1mbold?[0m # no" in file.read_text("utf-8")


def test_two_pipelines_have_no_common_name() -> None:
    other = spec_with(pipeline={"name": "b"})
    with pytest.raises(UserError, match="--name: the specs are 2 pipelines that do not feed each other"):
        import_specs(spec_with(), other, name="both")
    assert list(import_specs(spec_with(), name="mine", taken=["mine"]).workloads) == ["mine-2"]


def test_the_command_prints_settings_and_on_standard_error_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(spec_with(description="Makes\n a.", salt="x")))
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
    (tmp_path / "a.json").write_text(json.dumps(spec_with(transform={"image": "team/a:1"})))
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
        made = import_specs(*(spec_with(pipeline={"name": name}, input=read) for name, read in pipelines))
    except UserError as fault:
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
