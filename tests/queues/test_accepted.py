"""What the stack makes for queues, as the API server and Kueue's webhooks see it: no unknown field, nothing refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
import yaml

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import ApiError
from tests.queues.jobs import Jobs, Object
from tests.support import goldens, rendering
from tests.support.rendering import PROJECT, settings_of

_QUEUES = "kubernetes:kueue.x-k8s.io/"
_EVERYTHING = """
nodeGroups:
  cpu: {min: 1, max: 1}
  old: {accelerator: t4, perNode: 4, min: 2, max: 2, zones: [a, b]}
  new: {accelerator: h100-80gb, perNode: 8, min: 2, max: 2, zones: [a, b]}
topology: [zone, host]
teams:
  vision: {}
cohorts:
  labs: {weight: 2.5}
  lab: {parent: labs, weight: 1}
queues:
  slow: {priority: low, cpus: 0.5, memoryGib: 1, gpus: {t4: 4}, mayBorrow: {t4: 2, h100-80gb: 8}, weight: 0.5}
  middle: {gpus: {t4: 4}, lends: {t4: 2}, order: strict, cohort: lab, weight: 3, teams: [vision]}
  fast: {priority: high, gpus: {h100-80gb: 8}, mayBorrow: {t4: 2}, lends: {h100-80gb: 8}, cohort: labs}
  alone: {gpus: {h100-80gb: 4}, cohort: none, order: strict}
"""
"""Every setting of queues."""


def _rendered(settings: Settings, begin: str) -> list[Object]:
    """The objects of the kinds whose types begin so; a chart is no object."""
    made = rendering.run(lambda: stack.build(stack.load(settings))).resources
    found = [each for each in made if each.type.startswith(begin) and "/v" in each.type and "helm.sh" not in each.type]
    return [_floats(dict(each.inputs)) for each in found]


def _floats(value: Any) -> Any:
    """With the whole numbers that the engine makes of what mocks tell as fractions."""
    if isinstance(value, dict):
        return {key: _floats(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_floats(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _refused(jobs: Jobs, objects: Iterable[Object]) -> list[str]:
    """Why the cluster would not have them, under other names than what is there."""
    spaces = {each["metadata"]["name"] for each in jobs.kube.items("/api/v1/namespaces")}
    found = []
    for each in objects:
        at = {**each["metadata"], "name": f"try-{each['metadata']['name']}"[:63]}
        if "namespace" in at and at["namespace"] not in spaces:
            at["namespace"] = jobs.stack
        try:
            jobs.api.create({**each, "metadata": at}, manager="test", dry_run=True)
        except ApiError as error:
            found.append(f"{each['kind']} {at['name']}: {error}")
    return found


@pytest.fixture(scope="module")
def example() -> list[Object]:
    """The objects of examples/queues.yaml."""
    return _rendered(settings_of(PROJECT / "examples" / "queues.yaml"), "kubernetes:")


def test_every_object_of_the_example_is_accepted(jobs: Jobs, example: list[Object]) -> None:
    kinds = {each["kind"] for each in example}
    assert {"ClusterQueue", "LocalQueue", "ResourceFlavor", "WorkloadPriorityClass", "JobSet", "ResourceQuota"} <= kinds
    assert _refused(jobs, example) == []


def test_the_queues_of_every_example_and_stack_are_accepted(jobs: Jobs) -> None:
    rows = [row for name in goldens.STACKS for row in goldens.rows(name)]
    objects = [row["inputs"] for row in rows if row["type"].startswith(_QUEUES)]
    assert len(objects) > 10
    assert _refused(jobs, objects) == []


def test_every_setting_of_queues_is_accepted(jobs: Jobs) -> None:
    objects = _rendered(Settings(yaml.safe_load(_EVERYTHING)), _QUEUES)
    assert {"Cohort", "Topology", "ClusterQueue"} <= {each["kind"] for each in objects}
    assert _refused(jobs, objects) == []


def test_what_kueue_does_not_know_is_refused(jobs: Jobs, example: list[Object]) -> None:
    """The API server does look."""
    first, *_ = (each for each in example if each["kind"] == "ClusterQueue")
    misspelled = {**first, "spec": {**first["spec"], "cohort": "any"}}
    assert "cohort" in "".join(_refused(jobs, [misspelled]))
