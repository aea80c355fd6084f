"""Stages that publish to a model server or ask one: what cannot work is refused, one line for each fault."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.problems import problems_of

_RUN = {"command": ["sh", "-c", "true"], "image": "team/stage:1"}
_TREE: dict[str, Any] = {
    "cluster": {"kind": "existing", "context": "team"},
    "volumes": {"data": {"sizeGib": 10, "backend": {"kind": "nfs", "server": "nas.example", "folder": "/data"}}},
    "datasets": {name: {"volume": "data"} for name in ("raw", "model", "live", "answers")},
    "workloads": {
        "photos": {
            "kind": "pipeline",
            "stages": {
                "train": {**_RUN, "inputs": {"photos": "raw"}, "output": "model"},
                "serve": {"publish": "classifier", "inputs": {"model": "model"}, "output": "live"},
                "infer": {
                    **_RUN,
                    "inputs": {"photos": "raw", "live": "live"},
                    "server": "classifier",
                    "output": "answers",
                },
            },
        },
        "classifier": {"kind": "modelServer", "model": {"volume": "data", "path": "served/photos"}},
    },
}
_AT = "tensorplane:workloads.photos.stages"


def _problems(stage: str, **changes: Any) -> list[str]:
    tree = copy.deepcopy(_TREE)
    tree["workloads"]["photos"]["stages"][stage] |= changes
    return problems_of(tree)


def _problems_with(**server: Any) -> list[str]:
    tree = copy.deepcopy(_TREE)
    tree["workloads"]["classifier"] |= server
    return problems_of(tree)


def test_a_pipeline_that_ends_in_a_server_has_no_faults() -> None:
    assert problems_of(_TREE) == []


@pytest.mark.parametrize(
    ("stage", "changes", "line"),
    [
        (
            "serve",
            {"publish": "clasifier"},
            "serve.publish: no model server is named 'clasifier'; choose one of classifier (did you mean classifier?)",
        ),
        (
            "infer",
            {"server": "clasifier"},
            "infer.server: no model server is named 'clasifier'; choose one of classifier (did you mean classifier?)",
        ),
        (
            "serve",
            {"image": "team/serve:1"},
            "serve.image: is about stages that run a program, and this one publishes a model; remove it, or publish",
        ),
        (
            "serve",
            {"cache": True},
            "serve.cache: is about stages that run a program, and this one publishes a model; remove it, or publish",
        ),
        (
            "serve",
            {"inputs": {"model": "model", "photos": "raw"}},
            "serve.inputs: 2 inputs, but one has the model; keep one",
        ),
        (
            "serve",
            {"inputs": {"model": {"dataset": "model", "split": "file"}}},
            "serve.inputs.model.split: is set, but this stage publishes all files together; remove it",
        ),
        (
            "infer",
            {"params": {"MODEL_URL": "http://mine"}},
            "infer.params.MODEL_URL: is set by server to the address of classifier; use another name, or remove server",
        ),
    ],
)
def test_a_fault_is_one_line_that_says_what_to_change(stage: str, changes: dict[str, Any], line: str) -> None:
    assert _problems(stage, **changes) == [f"{_AT}.{line}"]


def test_a_stage_without_a_server_may_have_a_model_url_of_its_own() -> None:
    assert _problems("train", params={"MODEL_URL": "http://mine"}) == []


def test_a_server_that_does_not_let_the_pipeline_in_is_refused() -> None:
    line = "tensorplane:workloads.classifier.clients: does not let in pipeline photos; add {workload: photos}"
    assert _problems_with(clients=[{"namespace": "web"}]) == [line]
    assert _problems_with(clients=[{"workload": "photos"}]) == []


@pytest.mark.parametrize("key", ["pin", "versions"])
def test_a_server_that_serves_other_versions_only_is_refused(key: str) -> None:
    model = {"volume": "data", "path": "served/photos", key: 3 if key == "pin" else {"specific": [3]}}
    reason = f"classifier serves only the versions that its {key} names, so the stage would wait for ever"
    assert _problems_with(model=model) == [f"{_AT}.serve.publish: {reason}; remove {key} there"]


def test_nothing_is_published_to_a_model_from_elsewhere() -> None:
    model = {"uri": "https://models.example/photos.tar.gz", "fetch": {"sha256": "0" * 64}}
    reason = "classifier serves a model from a URI, to which nothing can be published"
    lines = _problems_with(model=model)
    assert lines == [f"{_AT}.serve.publish: {reason}; give its model a volume and a path"]


def test_the_servers_volume_must_let_the_pipeline_write() -> None:
    tree = copy.deepcopy(_TREE)
    backend = tree["volumes"]["data"]["backend"]
    tree["volumes"]["models"] = {"sizeGib": 10, "backend": {**backend, "folder": "/models"}, "readers": ["classifier"]}
    tree["volumes"]["models"]["writers"] = ["train"]
    tree["workloads"]["classifier"]["model"]["volume"] = "models"
    reason = "volume models does not allow photos to mount it; add it to the volume's writers"
    assert f"{_AT}.serve.publish: {reason}" in problems_of(tree)
