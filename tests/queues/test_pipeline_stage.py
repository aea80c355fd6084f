"""The stage that trains in the example of images: one parameter decides on which machines the queue places it."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
import yaml

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.workloads.pipeline.context import pipeline_context
from tensorplane.workloads.pipeline.manifest import steps_of
from tensorplane.workloads.pipeline.workload import PipelineArgs
from tests.queues.jobs import Jobs, Object
from tests.queues.random_jobs import SETTINGS
from tests.support.rendering import PROJECT, settings_of
from tests.support.waiting import eventually

_PARAMETER = re.compile(r"\{\{inputs\.parameters\.([\w-]+)\}\}")
_SMALL = {"cpus": 0.1, "memoryGib": 0.1}


pytestmark = pytest.mark.nightly("its template is told by tests/unit/workloads/pipeline/test_manifest.py")
_MACHINES = {"anywhere": "cpu", "on-t4": "t4", "on-a100": "a100-80gb"}
"""Where the stage of each pipeline runs; `cpu` is where no accelerator is named."""


def _job_sets() -> list[Object]:
    """The JobSet of each stage, as Argo would create it, in the queue `research` of the fleet."""
    fleet = yaml.safe_load(SETTINGS.read_text())["config"]
    tree: dict[str, Any] = {key.removeprefix("tensorplane:"): value for key, value in fleet.items()}
    example = settings_of(PROJECT / "examples" / "image-classification.yaml").tree
    made = []
    for name, machine in _MACHINES.items():
        pipeline = copy.deepcopy(example["workloads"]["classify"])
        train = pipeline["stages"]["train"]
        train["job"] |= {"queue": "research", "resources": _SMALL}
        if machine != "cpu":
            train["accelerator"] = machine
        # With the model server that it publishes to.
        more = {section: example[section] for section in ("volumes", "datasets")}
        servers = {other: each for other, each in example["workloads"].items() if other != "classify"}
        made.append(_job_set(name, {**tree, **more, "workloads": {**servers, name: pipeline}}))
    return made


def _job_set(name: str, tree: dict[str, Any]) -> Object:
    resolved = stack.load(Settings({**tree, "namespace": "tensorplane-dev"}))
    pipeline = resolved.config.workloads[name]
    assert isinstance(pipeline, PipelineArgs)
    steps = steps_of(pipeline, pipeline_context(name, pipeline, resolved.platform))["train"]
    found: Object = json.loads(_PARAMETER.sub(rf"{name}-\1", json.dumps(steps.job_set())))
    return _bare(found)


def _bare(job: Object) -> Object:
    """The same without what the cluster lacks: the volume, the ConfigMaps, the service account."""
    (role,) = job["spec"]["replicatedJobs"]
    spec = role["template"]["spec"]["template"]["spec"]
    spec.pop("volumes")
    spec.pop("initContainers", None)
    spec["serviceAccountName"] = "default"
    for container in spec["containers"]:
        container.pop("volumeMounts")
    return job


def test_one_parameter_decides_where_the_queue_places_the_stage(queues: Jobs) -> None:
    made = _job_sets()
    for job in made:
        queues.api.create(job, manager="test")
    names = [job["metadata"]["name"] for job in made]
    eventually(lambda: all(queues.running()[name] == 2 for name in names))
    assert {(job, kind) for job, _, kind in queues.landed()} == set(zip(names, _MACHINES.values(), strict=True))
