"""tensorplane's library is in a namespace once for all its jobs; a run that is kept has the one it started with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from tests.support.rendered_files import rendered_anew, rendered_file, rendered_tree
from tests.support.rendering import PROJECT, Rendered
from workloads import deployed_runs
from workloads.manifests.run import Recorded

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
        assert "ConfigMap tensorplane-library" in job.options["dependsOn"]


def test_without_jobs_there_is_none(tree: dict[str, Any]) -> None:
    assert libraries(rendered_tree({**tree, "workloads": {}})) == {}


def test_the_job_of_a_team_has_its_own_in_the_teams_namespace(tree: dict[str, Any]) -> None:
    tree["queues"] = {"research": {"cpus": 2, "memoryGib": 4, "teams": ["vision"]}}
    tree["teams"] = {"vision": {}}
    tree["workloads"]["two"] |= {"team": "vision", "queue": "research"}
    rendered = rendered_tree(tree)
    found = libraries(rendered)
    assert set(found) == {"tensorplane-library", "two-runtime"}
    assert found["two-runtime"][1] == "vision"
    assert mounted(rendered) == {"one": found["tensorplane-library"][0], "two": found["two-runtime"][0]}


def test_the_jobs_of_a_workload_stack_have_their_own() -> None:
    """Several stacks have objects in its namespace, each with its own version of the library."""
    rendered = rendered_file(PROJECT / "examples" / "workload-stack.yaml")
    names = {name for name, _ in libraries(rendered).values()}
    assert names >= set(mounted(rendered).values())
    assert "tensorplane-library" not in libraries(rendered)


def test_a_run_that_is_kept_keeps_its_library(tree: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of versions that recorded none stay as they were deployed, with a ConfigMap of their own."""
    runs = pulumi.Output.from_input({"one": Recorded("one-1a2b3c4d")})
    monkeypatch.setattr(deployed_runs, "recorded", lambda workloads, deployed: runs)
    assert set(libraries(rendered_anew(tree))) == {"tensorplane-library", "one-runtime"}
