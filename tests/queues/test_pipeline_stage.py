"""The stage that trains in the example of images: one parameter decides on which machines the queue places it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

import stack
from components.base.settings import Settings
from tests.queues.jobs import Jobs, Object
from tests.queues.random_jobs import SETTINGS
from tests.support.rendering import PROJECT, settings_of
from tests.support.waiting import eventually
from workloads.kinds.pipeline import PipelineArgs
from workloads.manifests.pipeline import steps_of
from workloads.pipeline_facts import facts_of

_PARAMETER = re.compile(r"\{\{inputs\.parameters\.([\w-]+)\}\}")
_SMALL = {"cpus": 0.1, "memoryGib": 0.1}


def _job_set(accelerator: str | None) -> Object:
    """The JobSet of the stage, as Argo would create it, in the queue `research` of the fleet."""
    fleet = yaml.safe_load(SETTINGS.read_text())["config"]
    tree: dict[str, Any] = {key.removeprefix("tensorplane:"): value for key, value in fleet.items()}
    example = settings_of(PROJECT / "examples" / "image-classification.yaml").tree
    train = example["workloads"]["classify"]["stages"]["train"]
    train["job"] |= {"queue": "research", "resources": _SMALL}
    if accelerator:
        train["accelerator"] = accelerator
    more = {section: example[section] for section in ("volumes", "datasets", "workloads")}
    resolved = stack.load(Settings({**tree, **more, "namespace": "tensorplane-dev"}))
    pipeline = resolved.config.workloads["classify"]
    assert isinstance(pipeline, PipelineArgs)
    steps = steps_of(pipeline, facts_of("classify", pipeline, resolved.platform))["train"]
    found: Object = json.loads(_PARAMETER.sub(r"a-\1", json.dumps(steps.job_set())))
    return found


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


@pytest.mark.parametrize("accelerator", [None, "t4", "a100-80gb"])
def test_one_parameter_decides_where_the_queue_places_the_stage(queues: Jobs, accelerator: str | None) -> None:
    job = _bare(_job_set(accelerator))
    queues.api.create(job, manager="test")
    eventually(lambda: queues.running()[job["metadata"]["name"]] == 2)
    assert {kind for _, _, kind in queues.landed()} == {accelerator or "cpu"}
