"""Pipelines that cannot work are refused before anything is deployed, one line for each fault."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.problems import problems_of

_RUN = {"command": ["sh", "-c", "true"], "image": "team/stage:1"}
_JOB = {"command": ["train"], "image": "team/train:1", "strategy": {"kind": "single"}}
_GPU = {"queue": "research", "resources": {"gpus": 1}}
_OF_TEMPLATE = {**_JOB, **_GPU, "env": {"GREETING": "hello {{name}}"}}
_TREE: dict[str, Any] = {
    "cluster": {"kind": "existing", "context": "team"},
    "nodeGroups": {"gpus": {"accelerator": "t4", "perNode": 1, "min": 2, "max": 2}},
    "volumes": {"data": {"sizeGib": 10, "backend": {"kind": "nfs", "server": "nas.example", "folder": "/data"}}},
    "datasets": {
        "raw": {"volume": "data"},
        "clicks": {"volume": "data", "table": {"columns": {"user": "int64", "page": "string"}}},
        "prepared": {"volume": "data"},
        "model": {"volume": "data"},
    },
    "queues": {"research": {"gpus": {"t4": 2}}},
    "workloads": {
        "photos": {
            "kind": "pipeline",
            "stages": {
                "prepare": {**_RUN, "inputs": {"photos": {"dataset": "raw", "split": "file"}}, "output": "prepared"},
                "train": {
                    **_RUN,
                    "inputs": {"photos": "prepared"},
                    "output": "model",
                    "accelerator": "t4",
                    "queue": "research",
                },
            },
        }
    },
}
_JOIN: dict[str, Any] = {
    "inputs": {"one": {"dataset": "raw", "split": "file"}, "two": {"dataset": "clicks", "split": "file"}},
    "join": "name",
}
_AT = "tensorplane:workloads.photos.stages"


def _problems(stage: str, **changes: Any) -> list[str]:
    tree = copy.deepcopy(_TREE)
    stages = tree["workloads"]["photos"]["stages"]
    stages[stage] = {key: value for key, value in {**stages[stage], **changes}.items() if value is not None}
    return problems_of(tree)


def test_a_pipeline_that_works_has_no_faults() -> None:
    assert problems_of(_TREE) == []


@pytest.mark.parametrize(
    ("stage", "changes", "line"),
    [
        (
            "prepare",
            {"inputs": {"photos": "rwa"}},
            "prepare.inputs.photos.dataset: no dataset is named 'rwa'; "
            "choose one of clicks, model, prepared, raw (did you mean raw?)",
        ),
        (
            "train",
            {"output": "modle"},
            "train.output: no dataset is named 'modle'; "
            "choose one of clicks, model, prepared, raw (did you mean model?)",
        ),
        (
            "train",
            {"output": "prepared"},
            "train.output: is prepared, which stage prepare writes too; use a dataset for each",
        ),
        (
            "prepare",
            {"inputs": {"photos": "prepared"}},
            "prepare.inputs.photos.dataset: is prepared, the output of this stage; read another dataset",
        ),
        (
            "prepare",
            {"inputs": {"photos": "raw", "old": "model"}},
            "prepare.inputs.old.dataset: makes a circle of stages, prepare -> train -> prepare; "
            "remove one of these inputs",
        ),
        (
            "prepare",
            {"inputs": {"clicks": {"dataset": "clicks", "columns": {"usr": "int64"}}}},
            "prepare.inputs.clicks.columns.usr: table clicks has no such column; choose one of page, user "
            "(did you mean user?)",
        ),
        (
            "prepare",
            {"inputs": {"clicks": {"dataset": "clicks", "columns": {"user": "string"}}}},
            "prepare.inputs.clicks.columns.user: is string, but table clicks has it as int64; set int64",
        ),
        (
            "prepare",
            {"inputs": {"photos": {"dataset": "raw", "columns": {"user": "int64"}}}},
            "prepare.inputs.photos.columns: dataset raw is no table; remove columns, or set datasets.raw.table",
        ),
        (
            "prepare",
            {"inputs": {"one": {"dataset": "raw", "split": "file"}, "two": {"dataset": "clicks", "split": "file"}}},
            "prepare.join: missing, but one and two are both split; set cross or name",
        ),
        (
            "prepare",
            {"join": "name"},
            "prepare.join: is name, but fewer than two inputs are split; remove it, or set their split",
        ),
        (
            "prepare",
            {
                "inputs": {
                    "one": {"dataset": "raw", "split": {"batch": 10}},
                    "two": {"dataset": "clicks", "split": "file"},
                },
                "join": "name",
            },
            "prepare.inputs.one.split: is a batch, which has no name to join by; set file or directory, or join: cross",
        ),
        (
            "prepare",
            {"inputs": {"photos": {"dataset": "raw", "split": "file", "key": "(*).jpg"}}},
            "prepare.inputs.photos.key: is set, but only join: name compares keys; set that, or remove key",
        ),
        (
            "prepare",
            {**_JOIN, "inputs": {**_JOIN["inputs"], "all": {"dataset": "model", "key": "(*)"}}},
            "prepare.inputs.all.key: is set, but the input is not split, so it has no parts to join; "
            "set its split, or remove key",
        ),
        (
            "prepare",
            {
                **_JOIN,
                "inputs": {**_JOIN["inputs"], "one": {"dataset": "raw", "split": "directory", "key": "(*)/*"}},
            },
            "prepare.inputs.one.key: '(*)/*' has a slash, but parts of split: directory are at the top of the dataset; "
            "remove it, or set split: file",
        ),
        (
            "prepare",
            {**_JOIN, "inputs": {**_JOIN["inputs"], "one": {"dataset": "raw", "split": "file", "key": "(*)_(*)"}}},
            "prepare.inputs.one.key: has 2 pairs of parentheses, but the key of two is one text; "
            "give each key of the stage the same number of parentheses",
        ),
        (
            "prepare",
            {**_JOIN, "inputs": {**_JOIN["inputs"], "one": {"dataset": "raw", "split": "file", "key": "*.jpg"}}},
            "prepare.inputs.one.key.pattern: invalid value '*.jpg'; "
            "use a pattern with the key in parentheses, such as (*).tar.gz",
        ),
        (
            "prepare",
            {**_JOIN, "inputs": {**_JOIN["inputs"], "one": {"dataset": "raw", "split": "file", "key": "/(*).jpg"}}},
            "prepare.inputs.one.key.pattern: invalid value '/(*).jpg'; "
            "use a pattern without a slash at its start: paths in a dataset have none (did you mean (*).jpg?)",
        ),
        (
            "prepare",
            {**_JOIN, "inputs": {**_JOIN["inputs"], "one": {"dataset": "raw", "split": "file", "key": "./a//(*)/"}}},
            "prepare.inputs.one.key.pattern: invalid value './a//(*)/'; use a pattern without empty names, . and .. "
            "between slashes, which no path in a dataset has (did you mean a/(*)?)",
        ),
        (
            "prepare",
            {
                **_JOIN,
                "inputs": {
                    **_JOIN["inputs"],
                    "one": {"dataset": "raw", "split": "file", "key": {"endings": ["jpg", ".tar.gz"]}},
                },
            },
            "prepare.inputs.one.key.endings.0: invalid value 'jpg'; "
            "use an ending of names that begins with a dot, such as .tar.gz (did you mean .jpg?)",
        ),
        (
            "train",
            {"outputPath": "/in/photos/out"},
            "train.outputPath: /in/photos/out overlaps /in/photos, another folder of the stage; use one apart from it",
        ),
        (
            "train",
            {"inputs": {"photos": {"dataset": "prepared", "path": "/pfs"}}, "outputPath": "/pfs/out"},
            "train.outputPath: /pfs/out overlaps /pfs, another folder of the stage; use one apart from it",
        ),
        ("train", {"mayFail": 2}, "train.mayFail: is 2, but no input is split, so there is one part; remove it"),
        (
            "prepare",
            {"cache": False, "reprocess": "new"},
            "prepare.reprocess: is new, but cache is false, so no former result is used; remove one of them",
        ),
        (
            "prepare",
            {"inputs": {"photos": {"dataset": "raw", "path": "/pfs/{{name}}"}}},
            "prepare.inputs.photos.path: has {{, after which Argo expects a variable of its own; "
            "put this text into a file of `files`",
        ),
        (
            "train",
            {"command": None, "image": None, "accelerator": None, "queue": None, "job": _OF_TEMPLATE},
            "train.job.env.GREETING: has {{, after which Argo expects a variable of its own; "
            "put this text into a file of `files`",
        ),
        (
            "prepare",
            {"command": ["sh", "-c", "echo {{name}}"]},
            "prepare.command.2: has {{, after which Argo expects a variable of its own; "
            "put this text into a file of `files`",
        ),
        (
            "prepare",
            {"params": {"ARGO_NODE_ID": 1}},
            "prepare.params.ARGO_NODE_ID: begins with ARGO_, as variables that Argo sets itself; use another name",
        ),
        (
            "train",
            {"queue": None},
            "train.queue: missing, but its pods use GPUs, which the queues share; "
            "set queue to one with a quota of GPUs",
        ),
        (
            "train",
            {"queue": "reserach"},
            "train.queue: no queue is named 'reserach'; choose one of research (did you mean research?)",
        ),
        (
            "train",
            {"accelerator": "t44"},
            "train.accelerator: no node group has 't44'; choose one of t4 (did you mean t4?)",
        ),
        (
            "train",
            {"resources": {"gpus": 1, "accelerator": "t4"}},
            "train.accelerator: conflicts with resources.accelerator; remove one of them",
        ),
        (
            "prepare",
            {"command": None},
            "prepare.command: required setting is missing: program of each pod; set it, job or publish",
        ),
        (
            "prepare",
            {"command": None, "image": None, "job": _JOB},
            "prepare.inputs.photos.split: is set, but this stage is a job, whose pods work on all files together; "
            "remove it",
        ),
        (
            "train",
            {"command": None, "image": None, "accelerator": None, "job": {**_JOB, **_GPU}},
            "train.queue: is about the pods of a command, and this stage is a job; set it in job",
        ),
        (
            "train",
            {"command": None, "image": None, "accelerator": None, "queue": None, "job": {**_JOB, "queue": "reserch"}},
            "train.job.queue: no queue is named 'reserch'; choose one of research (did you mean research?)",
        ),
        (
            "prepare",
            {"inputs": {"photos": {"dataset": "raw", "split": "files"}}},
            "prepare.inputs.photos.split.by: invalid value 'files'; use whole, file or directory (did you mean file?)",
        ),
        (
            "prepare",
            {"inputs": {"photos": {"dataset": "raw", "split": {"by": "file", "batch": 3}}}},
            "prepare.inputs.photos.split: by and batch are set; use one of by and batch, not both",
        ),
        (
            "prepare",
            {"inputs": {"photos": {"dataset": "raw", "branch": "a/b"}}},
            "prepare.inputs.photos.branch: invalid value 'a/b'; "
            "use the name of a branch: letters, digits, dots, dashes and underscores, at most 128",
        ),
    ],
)
def test_a_fault_is_one_line_that_says_what_to_change(stage: str, changes: dict[str, Any], line: str) -> None:
    assert _problems(stage, **changes) == [f"{_AT}.{line}"]


def test_a_stage_whose_queue_has_no_quota_of_its_gpus_is_refused() -> None:
    tree = copy.deepcopy(_TREE)
    tree["nodeGroups"]["new"] = {"accelerator": "l4", "perNode": 1, "min": 1, "max": 1}
    tree["workloads"]["photos"]["stages"]["train"]["accelerator"] = "l4"
    (line,) = problems_of(tree)
    asked = "1 train pod of 1 GPU, 1.06 CPUs, 2.15625 GiB would never start"
    assert line == f"{_AT}.train.queue: {asked}: queue research has t4, but no l4 for them; use another queue"


def test_a_volume_whose_writers_do_not_include_the_pipeline_is_refused() -> None:
    tree = copy.deepcopy(_TREE)
    tree["volumes"]["data"]["writers"] = ["other"]
    lines = problems_of(tree)
    for account in ("photos", "photos-steps"):
        reason = f"volume data does not allow {account} to mount it; add it to the volume's writers"
        (line,) = (line for line in lines if line.startswith(f"{_AT}.prepare.inputs.photos.dataset: {reason}"))
        assert "workloads.photos.stages.prepare.output" in line.partition("; also affects ")[2]
    assert len(lines) == 2


def test_a_workload_with_the_name_of_the_agent_is_refused() -> None:
    tree = copy.deepcopy(_TREE)
    stage = {**_RUN, "inputs": {"photos": "raw"}, "output": "unused"}
    tree["datasets"]["unused"] = {"volume": "data"}
    tree["workloads"]["photos-steps"] = {"kind": "pipeline", "stages": {"only": stage}}
    (line,) = problems_of(tree)
    assert (
        line == "tensorplane:workloads.photos-steps: is also the name of the agent of pipeline photos; use another name"
    )


_JOB_ON_GPUS = {**_JOB, "strategy": {"kind": "multiWorkerMirrored", "workers": 2}, "queue": "research"}


@pytest.mark.parametrize(
    ("accelerator", "resources", "lines"),
    [
        ("t4", {}, []),
        ("t44", {}, ["train.accelerator: no node group has 't44'; choose one of t4 (did you mean t4?)"]),
        (
            "t4",
            {"gpus": 1, "accelerator": "t4"},
            ["train.accelerator: conflicts with job.resources.accelerator; remove one of them"],
        ),
    ],
)
def test_one_parameter_moves_a_job_to_gpus(accelerator: str, resources: dict[str, Any], lines: list[str]) -> None:
    job = {**_JOB_ON_GPUS, "resources": resources}
    found = _problems("train", command=None, image=None, queue=None, accelerator=accelerator, job=job)
    assert found == [f"{_AT}.{line}" for line in lines]


def test_the_gpus_of_a_job_count_in_its_queue() -> None:
    job = {**_JOB_ON_GPUS, "strategy": {"kind": "multiWorkerMirrored", "workers": 3}}
    (line,) = _problems("train", command=None, image=None, queue=None, accelerator="t4", job=job)
    assert line.startswith(f"{_AT}.train.job.queue: 3 worker pods of 1 GPU")


def test_a_jobs_volume_lets_in_the_pipelines_account() -> None:
    tree = copy.deepcopy(_TREE)
    tree["volumes"]["data"]["writers"] = ["photos", "photos-steps"]
    stages = tree["workloads"]["photos"]["stages"]
    stages["train"] = {"job": {**_JOB, "volumes": {"data": "/data"}}, "inputs": {"photos": "raw"}, "output": "model"}
    assert problems_of(tree) == []


def test_a_stage_that_is_a_job_has_the_settings_of_one() -> None:
    job = {
        **_JOB,
        "strategy": {"kind": "multiWorkerMirrored", "workers": 2},
        "queue": "research",
        "resources": {"gpus": 1},
    }
    assert _problems("train", command=None, image=None, accelerator=None, queue=None, job=job) == []


@pytest.mark.parametrize(
    ("path", "of"), [("/out", "/out"), ("/out/cache", "/out"), ("/in", "/in/photos"), ("/data", None)]
)
def test_no_volume_of_a_job_hides_a_folder_of_its_stage(path: str, of: str | None) -> None:
    job = {**_JOB_ON_GPUS, "resources": {"gpus": 1}, "volumes": {"data": path}}
    found = _problems("train", command=None, image=None, queue=None, accelerator=None, job=job)
    reason = f"{path} overlaps {of}, another folder of the stage; use one apart from it"
    assert found == ([f"{_AT}.train.job.volumes.data: {reason}"] if of else [])


@pytest.mark.parametrize(("count", "refused"), [(3, False), (4, True)])
def test_a_stage_fits_into_a_variable_of_its_pods(count: int, refused: bool) -> None:
    found = _problems("prepare", params={f"TEXT_{number}": "ü" * 6_000 for number in range(count)})
    reason = "command and params have 144,076 bytes in JSON, more than the 114,687 of a stage"
    assert found == ([f"{_AT}.prepare.params: {reason}; move large values to `files`"] if refused else [])


@pytest.mark.parametrize("name", ["prepare-plan", "pipeline"])
def test_no_stage_has_the_name_of_a_step(name: str) -> None:
    tree = copy.deepcopy(_TREE)
    stages = tree["workloads"]["photos"]["stages"]
    stages[name] = stages.pop("train")
    assert problems_of(tree) == [f"{_AT}.{name}: is also the name of a step of the pipeline; use another name"]


def test_names_are_short_enough_for_those_of_runs() -> None:
    tree = copy.deepcopy(_TREE)
    name = "photos-of-all-cats-and-all-dogs-of-this-town-22"
    tree["workloads"] = {name: tree["workloads"]["photos"]}
    (line,) = problems_of(tree)
    reason = "the name has 47 characters; shorten it to 46, so that its runs' names stay valid"
    assert line == f"tensorplane:workloads.{name}: {reason}"
