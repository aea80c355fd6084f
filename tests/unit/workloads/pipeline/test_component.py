"""Pipelines as the stack creates them: spot nodes only for what is tried again, and no encrypted variables."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from typing import Any

import pulumi
import pytest

from tensorplane import stack
from tensorplane.core.errors import UserError
from tests.support import rendering
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import PROJECT, settings_of


def _tolerates_spot(retries: int) -> bool:
    base = settings_of(PROJECT / "examples/pipeline.yaml")
    tree = copy.deepcopy(dict(base.tree))
    tree["nodeGroups"] |= {"cpu": {"min": 2, "max": 4}, "cheap": {"max": 4, "spot": True}}
    tree["workloads"]["photos"]["stages"]["prepare"]["retries"] = retries
    made = rendering.run(partial(stack.build, stack.load(replace(base, tree=tree)))).resources
    (run,) = (each.inputs["spec"] for each in made if each.type.endswith(":WorkflowTemplate"))
    (part,) = (each for each in run["templates"] if "registry.example/prepare" in repr(each.get("containerSet")))
    return any(one["key"] == "tensorplane.dev/spot" for one in part.get("tolerations", ()))


@pytest.mark.parametrize("retries", [0, 1])
def test_a_stage_runs_on_spot_nodes_only_if_its_pods_are_tried_again(retries: int) -> None:
    assert _tolerates_spot(retries) == (retries > 0)


_JOB = {
    "strategy": {"kind": "single"},
    "image": "registry.example/train:1",
    "command": ["train"],
    "env": {"TOKEN": "hunter2"},
    "resources": {"gpus": 1, "cpus": 1, "memoryGib": 2},
    "queue": "research",
}


_COMMON = {"inputs": {"photos": "raw"}, "output": "model"}


@pytest.mark.parametrize(
    ("changes", "path", "reason"),
    [
        (
            {"command": ["train"], "params": {"TOKEN": "hunter2"}},
            ("params", "TOKEN"),
            " and in lineage; make the stage",
        ),
        ({"job": _JOB}, ("job", "env", "TOKEN"), "; use {secret: NAME, key: KEY}"),
    ],
)
def test_encrypted_variables_are_refused_where_all_could_read_them(
    changes: dict[str, Any], path: tuple[str, ...], reason: str
) -> None:
    tree = copy.deepcopy(dict(settings_of(PROJECT / "examples/pipeline.yaml").tree))
    tree["workloads"]["photos"]["stages"]["train"] = {**_COMMON, **changes}
    where = ("workloads", "photos", "stages", "train", *path)
    rendered_tree(tree)
    with pytest.raises(UserError) as refused:
        rendered_tree(tree, frozenset({where}))
    said = str(refused.value)
    assert f"{'.'.join(where)}: is encrypted, but would be readable in the WorkflowTemplate{reason}" in said
    assert "hunter2" not in said


@pytest.mark.parametrize("path", [("image",), ("env", "TOKEN", "secret")])
def test_a_stage_needs_values_and_no_outputs(path: tuple[str, ...]) -> None:
    base = settings_of(PROJECT / "examples/pipeline.yaml")
    tree = copy.deepcopy(dict(base.tree))
    job: dict[str, Any] = {**_JOB, "env": {"TOKEN": {"secret": "hub", "key": "token"}}}
    tree["workloads"]["photos"]["stages"]["train"] = {**_COMMON, "job": job}

    def program() -> Any:
        *above, last = path
        here = job
        for key in above:
            here = here[key]
        here[last] = pulumi.Output.from_input(here[last])
        return stack.build(stack.load(replace(base, tree=tree)))

    with pytest.raises(UserError) as refused:
        rendering.run(program)
    where = ".".join(("workloads", "photos", "stages", "train", "job", *path))
    assert f"{where}: comes from another resource, whose name is not known here; set its name" in str(refused.value)
