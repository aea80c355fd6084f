"""What workloads register of their accelerators: each request once, for its priority and what its pods may get."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tensorplane.workloads import gpu_requests
from tests.support.workload_stacks import JOB, Project

PLATFORM: dict[str, Any] = {
    "cluster": {"kind": "existing", "context": "ml"},
    "gpuRuntime": {"kind": "plugin"},
    "controllers": {"jobset": "chart"},
    "nodeGroups": {
        "cpu": {"max": 4},
        "old": {"accelerator": "t4", "perNode": 4, "max": 4},
        "shared": {"accelerator": "l4", "max": 2, "sharing": {"kind": "timeSlicing", "replicas": 4}},
        "big": {"accelerator": "h100-80gb", "perNode": 8, "max": 2},
    },
    "volumes": {"models": {"sizeGib": 2, "accessModes": ["ReadWriteMany"]}},
    "queues": {
        "training": {"priority": "low", "cpus": 16, "memoryGib": 64, "gpus": {"t4": 8, "l4-time-slicing-4": 4}},
        "urgent": {"priority": "high", "cpus": 16, "memoryGib": 64, "gpus": {"h100-80gb": 8}},
    },
}
JOB_ON_GPUS = {**JOB, "image": "registry.example/train:2.1.0"}


def notebook(**resources: Any) -> dict[str, Any]:
    folder = {"volume": "models", "path": "notebooks"}
    shared = {"image": "registry.example/lab:2.21.0", "queue": "training", "volumes": {"models": "/models"}}
    return {"kind": "notebook", **shared, "folder": folder, "resources": resources}


def sweep(**resources: Any) -> dict[str, Any]:
    search = {"parameters": {"RATE": {"low": 0.1, "high": 1}}, "sampler": "random", "trials": 9, "parallel": 3}
    trial = {key: value for key, value in JOB_ON_GPUS.items() if key != "kind"}
    image = "registry.example/optuna:5.0.0"
    return {"kind": "sweep", "search": search, "controllerImage": image, "trial": {**trial, "resources": resources}}


@pytest.mark.parametrize("stack", ["dev", "vision"])
@pytest.mark.parametrize(
    ("workload", "requests"),
    [
        (notebook(gpus=1, accelerator="l4"), [(1, "low", ["l4"])]),
        (notebook(gpus=2), [(2, "low", ["t4"])]),
        (notebook(), []),
        (sweep(gpus=2, accelerator="t4"), [(6, "low", ["t4"])]),
        ({**JOB_ON_GPUS, "resources": {"gpus": 1}}, [(1, "low", ["l4", "t4"])]),
        ({**JOB_ON_GPUS, "resources": {"gpus": 8}, "queue": "urgent"}, [(8, "high", ["h100-80gb"])]),
    ],
    ids=["notebook", "notebook on whole GPUs", "notebook without GPUs", "sweep", "job", "job of another queue"],
)
def test_a_request_has_the_priority_of_its_queue_and_the_accelerators_that_it_may_get(
    tmp_path: Path, stack: str, workload: Mapping[str, Any], requests: list[tuple[int, str, list[str]]]
) -> None:
    """Also in a workload stack, which has neither queues nor node groups of its own."""
    project = Project(tmp_path / "project")
    if stack == "dev":
        project.write("dev", {**PLATFORM, "workloads": {"one": workload}})
    else:
        project.write("dev", PLATFORM)
        project.write("vision", {"platform": "dev", "workloads": {"one": workload}})
    found = project.load(stack)
    made = gpu_requests.of(found.workloads["one"], found.platform)
    assert [(one["gpus"], one["priority"], one["accelerators"]) for one in made["requests"]] == requests
