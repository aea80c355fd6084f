"""Triggers of pipelines: what can be declared, and the agent that is made of them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tensorplane.agents.triggers.spec import TriggerSpec
from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered

_STAGE = {"command": ["sh", "-c", "true"], "image": "team/stage:1"}
_NFS = {"kind": "nfs", "server": "nas.example", "folder": "/data"}
_TREE: dict[str, Any] = {
    "cluster": {"kind": "existing", "context": "team"},
    "namespace": "vision",
    "volumes": {"data": {"sizeGib": 10, "backend": _NFS}, "more": {"sizeGib": 10, "backend": _NFS}},
    "streams": {
        "events": {
            "broker": {"kind": "strimzi", "cluster": "kafka"},
            "topics": {"clicks": {}},
            "groups": {"recorder": {}},
        }
    },
    "datasets": {
        "raw": {"volume": "data"},
        "labels": {"volume": "more"},
        "prepared": {"volume": "data"},
        "model": {"volume": "data"},
    },
    "workloads": {
        "photos": {
            "kind": "pipeline",
            "stages": {
                "prepare": {**_STAGE, "inputs": {"photos": "raw"}, "output": "prepared"},
                "train": {
                    **_STAGE,
                    "inputs": {"photos": "prepared", "labels": {"dataset": "labels", "branch": "reviewed"}},
                    "output": "model",
                },
            },
        }
    },
}


def _tree(**triggers: Any) -> dict[str, Any]:
    tree = copy.deepcopy(_TREE)
    tree["workloads"]["photos"]["triggers"] = triggers
    return tree


def _agent(rendered: Rendered) -> dict[str, Any]:
    """The pod of the agent."""
    found: dict[str, Any] = rendered.one("Deployment", "photos-triggers").inputs["spec"]["template"]["spec"]
    return found


def test_the_agent_finds_the_sources_on_volumes_that_it_only_reads() -> None:
    tree = _tree(new={}, enough={"datasets": ["labels@reviewed"], "mib": 1.5}, nightly={"schedule": "0 2 * * *"})
    rendered = rendered_tree(tree)
    spec = _agent(rendered)
    (container,) = spec["containers"]
    mounts = {one["mountPath"]: one for one in container["volumeMounts"]}
    text = rendered.one("ConfigMap", "photos-triggers-settings").inputs["data"]["triggers.json"]
    described = TriggerSpec.read(json.loads(text))
    assert {name: (log.root, log.branch) for name, log in described.logs.items()} == {
        "labels_reviewed": (Path("/volumes/more/datasets/labels"), "reviewed"),
        "raw": (Path("/volumes/data/datasets/raw"), "main"),
    }
    assert all(mounts[at]["readOnly"] for at in ("/volumes/data", "/volumes/more"))
    assert {name: log.root for name, log in described.outputs.items()} == {
        name: Path(f"/volumes/data/datasets/{name}") for name in ("model", "prepared")
    }
    by_name = {one.name: one for one in described.triggers}
    assert (by_name["new"].unit, by_name["new"].at_least) == ("versions", 1)
    assert by_name["new"].sources == ("labels_reviewed", "raw")
    assert (by_name["enough"].unit, by_name["enough"].at_least) == ("bytes", 3 * 2**19)
    assert by_name["enough"].sources == ("labels_reviewed",)
    assert by_name["nightly"].schedule == (frozenset({0}), frozenset({2}), None, None, None)
    template = rendered.one("WorkflowTemplate", "photos").inputs
    assert {one["name"] for one in template["spec"]["arguments"]["parameters"]} == {*described.logs}


def test_the_agent_mounts_the_volumes_of_outputs_whose_makers_it_looks_for() -> None:
    tree = _tree(new={})
    tree["volumes"]["results"] = {"sizeGib": 10, "backend": _NFS}
    tree["datasets"]["model"]["volume"] = "results"
    rendered = rendered_tree(tree)
    (container,) = _agent(rendered)["containers"]
    mounts = {one["mountPath"]: one for one in container["volumeMounts"]}
    assert mounts["/volumes/results"]["readOnly"]
    tree["volumes"]["results"]["writers"] = ["photos", "photos-steps"]
    (line,) = problems_of(tree)
    assert line.startswith("tensorplane:workloads.photos.triggers: volume results does not allow photos-triggers to")


def test_the_agent_may_start_runs_of_its_pipeline_and_remember() -> None:
    rendered = rendered_tree(_tree(new={}))
    rules = rendered.one("Role", "photos-triggers").inputs["rules"]
    verbs = {(one["resources"][0], *one.get("resourceNames", ())): one["verbs"] for one in rules}
    assert verbs == {
        ("configmaps", "photos-triggers"): ["get", "patch"],
        ("events",): ["create"],
        ("workflowtemplates", "photos"): ["get"],
        ("workflows",): ["get", "list", "create"],
        ("leases", "agent.photos-triggers"): ["get", "patch"],
    }
    memory = rendered.one("ConfigMap", "photos-triggers-kept")
    assert memory.inputs["metadata"]["name"] == "photos-triggers"
    assert memory.options["ignoreChanges"] == ["data"]


def test_without_triggers_there_is_no_agent() -> None:
    rendered = rendered_tree(copy.deepcopy(_TREE))
    assert not [one for one in rendered.resources if "triggers" in one.name]


@pytest.mark.parametrize(
    ("trigger", "faults"),
    [
        ({}, []),
        (
            {"datasets": ["prepared"]},
            ["datasets.0: 'prepared' is no dataset that the pipeline begins with; choose one of labels@reviewed, raw"],
        ),
        (
            {"datasets": ["rwa"]},
            [
                "datasets.0: 'rwa' is no dataset that the pipeline begins with; "
                "choose one of labels@reviewed, raw (did you mean raw?)"
            ],
        ),
        (
            {"versions": 2, "files": 3},
            ["versions and files are set; use one of versions, files, mib, windows and schedule, not several"],
        ),
        ({"schedule": "0 25 * * *"}, ["schedule: invalid value '0 25 * * *'; use 0 to 23 for the hour"]),
        (
            {"schedule": "@daily", "datasets": ["raw"]},
            ["schedule and datasets are set; use schedule alone, which counts nothing"],
        ),
        ({"versions": 0}, ["versions: invalid value 0; use 1"]),
        ({"quietSeconds": 60, "longestSeconds": 5}, ["longestSeconds: is 5, less than quietSeconds, which is 60; set"]),
        ({"windows": 3}, ["windows: is 3, but no recorder writes to labels@reviewed and raw; count versions instead"]),
    ],
)
def test_what_cannot_work_is_refused(trigger: dict[str, Any], faults: list[str]) -> None:
    found = problems_of(_tree(new=trigger))
    lines = [line.removeprefix("tensorplane:workloads.photos.triggers.new").lstrip(".: ") for line in found]
    assert len(lines) == len(faults), found
    assert all(line.startswith(start) for line, start in zip(lines, faults, strict=True)), lines


def test_windows_of_a_recorder_can_be_counted() -> None:
    tree = _tree(new={"windows": 3})
    tree["workloads"]["clicks"] = {
        "kind": "recorder",
        "input": {"stream": "events", "topic": "clicks", "group": "recorder"},
        "dataset": "raw",
        "image": "team/recorder:1",
    }
    assert problems_of(tree) == []


def test_a_volume_with_readers_must_list_the_agent() -> None:
    tree = _tree(new={})
    tree["volumes"]["more"]["writers"] = ["photos", "photos-steps"]
    (line,) = problems_of(tree)
    assert line.startswith("tensorplane:workloads.photos.triggers: volume more does not allow photos-triggers to mount")
    tree["volumes"]["more"]["readers"] = ["photos-triggers"]
    assert problems_of(tree) == []


def test_a_workload_with_the_name_of_the_agent_is_refused() -> None:
    tree = _tree(new={})
    tree["datasets"]["unused"] = {"volume": "data"}
    stage = {**_STAGE, "inputs": {"photos": "raw"}, "output": "unused"}
    tree["workloads"]["photos-triggers"] = {"kind": "pipeline", "stages": {"only": stage}}
    (line,) = problems_of(tree)
    assert line.startswith("tensorplane:workloads.photos-triggers: is also the name of the triggers of pipeline photos")
