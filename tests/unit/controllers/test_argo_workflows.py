"""Argo Workflows: where a stack gets it, and how its Kueue then admits pods."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import rendering
from tests.support.problems import dev
from tests.support.rendered_files import rendered_tree


def _rendered(controllers: dict[str, Any]) -> rendering.Rendered:
    return rendered_tree({**dev(), "controllers": controllers})


@pytest.mark.parametrize(
    ("controllers", "installed", "frameworks"),
    [
        ({}, False, ["jobset.x-k8s.io/jobset"]),
        ({"argoWorkflows": "chart"}, True, ["jobset.x-k8s.io/jobset", "pod"]),
        ({"argoWorkflows": "present"}, False, ["jobset.x-k8s.io/jobset", "pod"]),
    ],
)
def test_kueue_admits_pods_where_workflows_run(
    controllers: dict[str, Any], installed: bool, frameworks: list[str]
) -> None:
    found = {one.name: one.inputs for one in _rendered(controllers).all("Release")}
    assert ("argo-workflows" in found) == installed
    configuration = json.loads(found["kueue"]["values"]["managerConfig"]["controllerManagerConfigYaml"])
    assert configuration["integrations"] == {"frameworks": frameworks}
    assert configuration["managedJobsNamespaceSelector"] == {
        "matchLabels": {"app.kubernetes.io/part-of": "tensorplane"}
    }
