"""Which jobs' pods may be ended by force on a lost node: those of which nothing is left that others see."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.agents.lost_nodes import pods
from tensorplane.components.base import labels
from tensorplane.workloads.pods.fence import is_fenced
from tensorplane.workloads.pods.mounts import Mountable
from tensorplane.workloads.training_job.settings import JobSettings

_VOLUMES = {"models": Mountable("models"), "data": Mountable("data"), "disk": Mountable("disk", one_node=True)}
_JOB: dict[str, Any] = {
    "command": ["python3", "train.py"],
    "strategy": {"kind": "single"},
    "volumes": {"models": "/models"},
    "checkpoints": {"volume": "models"},
}


@pytest.mark.parametrize(
    ("changes", "fenced"),
    [
        ({}, True),
        ({"model": {"volume": "models", "path": "digits"}}, True),
        ({"volumes": {"models": "/models", "data": {"path": "/data", "readOnly": True}}}, True),
        (
            {"volumes": {"models": "/models", "data": "/data"}, "model": {"volume": "data", "path": "digits"}},
            True,
        ),
        ({"volumes": {"models": "/models", "data": "/data"}}, False),
        (
            {
                "volumes": {"models": "/models", "data": "/data"},
                "tensorboard": {"volume": "data"},
            },
            False,
        ),
        ({"volumes": {"disk": "/models"}, "checkpoints": {"volume": "disk"}}, False),
        ({"checkpoints": None}, False),
        ({"command": ["train"]}, False),
    ],
    ids=[
        "checkpoints",
        "and a model",
        "and data that it reads",
        "a model elsewhere",
        "data that it may write",
        "curves elsewhere",
        "a disk of one node",
        "no checkpoints",
        "no launcher",
    ],
)
def test_pods_that_write_only_where_the_library_fences_may_be_ended(changes: dict[str, Any], fenced: bool) -> None:
    assert is_fenced(JobSettings.model_validate({**_JOB, **changes}), _VOLUMES) is fenced


def test_the_agent_looks_for_the_annotation_that_they_have() -> None:
    assert pods.FENCED == labels.FENCED
