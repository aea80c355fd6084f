"""tensorplane's library is in a namespace once for all its jobs; a run that is kept has the one it started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi
import pytest

from tensorplane.workloads.pods import sources
from tensorplane.workloads.pods.files import shared_library
from tensorplane.workloads.training_job import deployed_runs
from tensorplane.workloads.training_job.run import Recorded
from tests.support.rendered_files import rendered_anew, rendered_file, rendered_tree
from tests.support.rendering import PROJECT, Rendered

JOB: Mapping[str, Any] = {
    "kind": "trainingJob",
    "strategy": {"kind": "single"},
    "image": "registry.example/train:1",
    "command": ["python3", "-c", "pass"],
}


def mounted(rendered: Rendered) -> dict[str, str]:
    """The name of the ConfigMap with the library that the pods of each job mount."""
    return {one.name: _library(one.inputs["spec"]) for one in rendered.all("JobSet")}


def _library(spec: Mapping[str, Any]) -> str:
    (job,) = spec["replicatedJobs"]
    volumes = job["template"]["spec"]["template"]["spec"]["volumes"]
    (name,) = (one["configMap"]["name"] for one in volumes if one["name"] == "files-lib")
    return str(name)


def libraries(rendered: Rendered) -> dict[str, tuple[str, str]]:
    """The name and the namespace of each ConfigMap with the library, by its name in the stack."""
    return {
        one.name: (one.inputs["metadata"]["name"], one.inputs["metadata"]["namespace"])
        for one in rendered.all("ConfigMap")
        if "0.tensorplane.zip" in one.inputs.get("binaryData", {})
    }


@pytest.fixture(name="tree")
def a_tree() -> dict[str, Any]:
    return {"cluster": {"kind": "existing", "context": "c"}, "workloads": {"one": dict(JOB), "two": dict(JOB)}}


def test_jobs_mount_one_config_map_and_are_replaced_before_it_is_deleted(tree: dict[str, Any]) -> None:
    rendered = rendered_tree(tree)
    ((name, namespace),) = libraries(rendered).values()
    assert mounted(rendered) == {"one": name, "two": name}
    assert namespace == rendered.one("JobSet", "one").inputs["metadata"]["namespace"]
    for job in rendered.all("JobSet"):
        assert f"ConfigMap {name}" in job.options["dependsOn"]


def test_without_jobs_there_is_none(tree: dict[str, Any]) -> None:
    assert libraries(rendered_tree({**tree, "workloads": {}})) == {}


def test_the_job_of_a_team_has_its_own_in_the_teams_namespace(tree: dict[str, Any]) -> None:
    tree["queues"] = {"research": {"cpus": 2, "memoryGib": 4, "teams": ["vision"]}}
    tree["teams"] = {"vision": {}}
    tree["workloads"]["two"] |= {"team": "vision", "queue": "research"}
    rendered = rendered_tree(tree)
    found = libraries(rendered)
    shared = shared_library(sources.library()).name
    assert set(found) == {shared, "two-runtime"}
    assert found["two-runtime"][1] == "vision"
    assert mounted(rendered) == {"one": shared, "two": found["two-runtime"][0]}


def test_the_jobs_of_a_workload_stack_have_their_own() -> None:
    """Several stacks have objects in its namespace, each with its own version of the library."""
    rendered = rendered_file(PROJECT / "examples" / "workload-stack.yaml")
    names = {name for name, _ in libraries(rendered).values()}
    assert names >= set(mounted(rendered).values())
    assert not [name for name in libraries(rendered) if name.startswith("tensorplane-library")]


@pytest.mark.parametrize(
    ("recorded", "library"),
    [
        (Recorded("one-1a2b3c4d"), "one-runtime"),
        (Recorded("one-1a2b3c4d", {}, library="tensorplane-library-0a1b2c3d"), "tensorplane-library-0a1b2c3d"),
        (Recorded("one-1a2b3c4d", {}), "tensorplane-library"),
    ],
    ids=["of a version that recorded no runs", "of this version", "of the version between them"],
)
def test_runs_that_are_kept_keep_their_library(
    tree: dict[str, Any], monkeypatch: pytest.MonkeyPatch, recorded: Recorded, library: str
) -> None:
    """The same one of several runs is there once."""
    runs = {name: _as_planned(tree, name, recorded) for name in ("one", "two")}
    monkeypatch.setattr(deployed_runs, "recorded", lambda deployed: pulumi.Output.from_input(runs))
    current = shared_library(sources.library()).name
    expected = {library, library.replace("one-", "two-"), current}
    assert set(libraries(rendered_anew(tree))) == expected


def _as_planned(tree: dict[str, Any], name: str, recorded: Recorded) -> Recorded:
    """The run of a job as this stack has it, with the library of another version."""
    if recorded.decisive is None:
        return recorded
    outputs = rendered_tree(tree).exports["workloads"][name]["run"]
    return replace(recorded, name=outputs["name"], decisive=outputs["decisive"], manifest=outputs["manifest"])
