"""Pods of stages run on spot nodes only if they are tried again."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial

import pytest

import stack
from tests.support import rendering
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
