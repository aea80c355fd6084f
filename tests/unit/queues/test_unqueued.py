"""Workloads without a queue and queues want the same cards: what is left for whom is told before anything waits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.problems import problems_of
from tests.support.rendering import GPU_IMAGE

GROUPS = {"old": {"accelerator": "t4", "min": 0, "max": 4}, "new": {"accelerator": "h100-80gb", "perNode": 8, "max": 1}}


def tree(gpus: dict[str, int], resources: dict[str, Any], *, replicas: int = 1) -> dict[str, Any]:
    """A queue, and a model server beside it."""
    return {
        "nodeGroups": GROUPS,
        "volumes": {"models": {"sizeGib": 1}},
        "queues": {"research": {"gpus": gpus}},
        "workloads": {
            "server": {
                "kind": "modelServer",
                "model": {"volume": "models", "path": "m"},
                "replicas": replicas,
                "resources": resources,
            }
        },
    }


@pytest.mark.parametrize(
    ("gpus", "resources"),
    [
        ({"t4": 2}, {"gpus": 1, "accelerator": "t4"}),  # one, and one more while it is replaced
        ({"t4": 4}, {"gpus": 1, "accelerator": "h100-80gb"}),
        ({"t4": 2, "h100-80gb": 6}, {"gpus": 1}),  # any card, and both have room
        ({"t4": 4}, {"gpus": 2}),  # no node of t4 takes two
        ({"t4": 4}, {}),
    ],
)
def test_what_both_find_is_accepted(gpus: dict[str, int], resources: dict[str, Any]) -> None:
    assert problems_of(tree(gpus, resources)) == []


@pytest.mark.parametrize("resources", [{"gpus": 1, "accelerator": "t4"}, {"gpus": 1, "nodeGroup": "old"}])
def test_a_queue_that_leaves_too_little_is_one_line(resources: dict[str, Any]) -> None:
    assert problems_of(tree({"t4": 3}, resources)) == [
        "tensorplane:queues.research.gpus.t4: the queues' quotas are 3 t4, and workloads without a queue use up to 2 "
        "(server 2), but the node groups have at most 4; set 2 or less here, or raise max of a node group"
    ]


def test_a_workload_that_may_take_what_a_queue_is_sure_of_names_its_card() -> None:
    line = "tensorplane:workloads.server.resources.accelerator: leaves open which GPUs: pods without a queue can take"
    assert problems_of(tree({"t4": 4}, {"gpus": 1})) == [
        f"{line} t4 GPUs that are guaranteed to queues; set it to one of h100-80gb"
    ]
    assert problems_of(tree({"t4": 4, "h100-80gb": 8}, {"gpus": 1})) == [
        f"{line} t4, h100-80gb GPUs that are guaranteed to queues; lower the queues' gpus, or raise max of a node group"
    ]


def job(evaluator: dict[str, Any]) -> dict[str, Any]:
    """A queue, and a job beside it whose worker uses H100 and whose evaluator uses other GPUs."""
    found = tree({"t4": 3, "h100-80gb": 6}, {})
    found["workloads"] = {
        "job": {
            "kind": "trainingJob",
            "command": ["python3", "-c", "pass"],
            "image": GPU_IMAGE,
            "strategy": {"kind": "multiWorkerMirrored", "workers": 2, "evaluator": {"resources": evaluator}},
            "resources": {"gpus": 1, "accelerator": "h100-80gb"},
            "volumes": {"models": "/models"},
            "checkpoints": {"volume": "models"},
        }
    }
    return found


def test_roles_of_a_job_may_use_different_accelerators() -> None:
    assert problems_of(job({"gpus": 1, "accelerator": "t4"})) == []


def test_a_role_that_names_its_accelerator_leaves_nothing_open() -> None:
    settings = job({"gpus": 1, "accelerator": "t4"})
    settings["queues"]["research"]["gpus"]["t4"] = 4
    (line,) = problems_of(settings)
    assert "the queues' quotas are 4 t4, and workloads without a queue use up to 1 (job 1)" in line


def test_only_the_role_that_leaves_its_accelerator_open_is_reported() -> None:
    settings = job({"gpus": 1})
    settings["queues"]["research"]["gpus"]["t4"] = 4
    (line,) = problems_of(settings)
    at = "tensorplane:workloads.job.strategy.evaluator.resources.accelerator"
    assert line.startswith(f"{at}: leaves open which GPUs: pods without a queue can take ")


def test_roles_of_a_job_count_together_where_they_use_the_same_accelerator() -> None:
    (line,) = problems_of(job({"gpus": 1, "accelerator": "h100-80gb"}))
    assert "workloads without a queue use up to 3 (job 3), but the node groups have at most 8; set 5 or less" in line


def test_a_quota_that_is_too_large_by_itself_is_said_once() -> None:
    (line,) = problems_of(tree({"t4": 5}, {"gpus": 1, "accelerator": "t4"}))
    assert "the queues' quotas are 5 of t4 (research 5)" in line
