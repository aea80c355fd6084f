"""Cores of a pipeline's stage beside those that come with its GPUs."""

from __future__ import annotations

import copy
from typing import Any

from tests.support.problems import problems_of

_QUEUE = {"gpus": {"t4": 1}, "mayBorrow": {"t4": 1}}
_TREE: dict[str, Any] = {
    "nodeGroups": {"gpus": {"accelerator": "t4", "perNode": 4, "min": 1, "max": 1}},
    "volumes": {"data": {"sizeGib": 10}},
    "datasets": {"raw": {"volume": "data"}, "model": {"volume": "data"}},
    "queues": {"research": _QUEUE, "other": _QUEUE},
    "workloads": {
        "photos": {
            "kind": "pipeline",
            "stages": {
                "train": {
                    "command": ["python3", "-c", "pass"],
                    "inputs": {"photos": "raw"},
                    "output": "model",
                    "accelerator": "t4",
                    "queue": "research",
                    "resources": {"cpus": 2, "memoryGib": 8},
                }
            },
        }
    },
}


def test_a_stage_with_more_cores_than_come_with_its_guaranteed_gpu_is_refused() -> None:
    assert problems_of(_TREE) == []
    tree = copy.deepcopy(_TREE)
    # With the container that keeps its results.
    tree["workloads"]["photos"]["stages"]["train"]["resources"]["cpus"] = 3.95
    (line,) = problems_of(tree)
    at = "tensorplane:workloads.photos.stages.train.resources.cpus"
    assert line.startswith(f"{at}: train pods request 4.01 cores, but 1 GPU of t4 comes with 4,")
