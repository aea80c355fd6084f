"""A stack of its own runs a job on the dev stack's queue and volume, and its end leaves the dev stack as it is."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.driver.update.stack import Stack
from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import LEGACY, SMALL, Running
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("three updates, two destructions and a job of TensorFlow; unit tests tell the rest")

PROGRAM = """
import os, pathlib
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(tf.ones([32, 2]), tf.ones([32, 1]), epochs=2, verbose=0)
pathlib.Path("/models/of-another-stack").write_text("trained")
print("trained", flush=True)
"""
JOB: dict[str, Any] = {
    "kind": "trainingJob",
    "strategy": {"kind": "single"},
    "command": ["python3", "-c", PROGRAM],
    "env": {"TF_CPP_MIN_LOG_LEVEL": "2", **LEGACY},
    "resources": SMALL,
    "volumes": {"models": "/models"},
    "queue": "training",
}
JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/tensorplane-dev/jobsets"
ACCOUNTS = "/api/v1/namespaces/tensorplane-dev/serviceaccounts"
PLATFORM = {
    "the queue": "/apis/kueue.x-k8s.io/v1beta2/namespaces/tensorplane-dev/localqueues/training",
    "the volume": "/api/v1/namespaces/tensorplane-dev/persistentvolumeclaims/models",
    "the server": "/apis/apps/v1/namespaces/tensorplane-dev/deployments/digits-server",
    "the namespace": "/api/v1/namespaces/tensorplane-dev",
}


def _stack(deployed: Deployed, folder: Path, name: str, workloads: dict[str, Any]) -> Stack:
    """A workload stack in a project of its own that also has the dev stack's file."""
    config = {"config": {"tensorplane:platform": "dev", "tensorplane:workloads": workloads}}
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name=name))
    stack = named.with_settings(folder, json.dumps(config))
    shutil.copyfile(PROJECT / "Pulumi.dev.yaml", stack.settings.project / "Pulumi.dev.yaml")
    return stack


def _uids(deployed: Deployed) -> dict[str, str]:
    """What the dev stack has, as the API server tells objects apart."""
    found = {what: deployed.kube.get(path) for what, path in PLATFORM.items()}
    return {what: thing["metadata"]["uid"] if thing else "is gone" for what, thing in found.items()}


def _leaves_state(stack: Stack) -> bool:
    """Whether the dev stack's state still has all its resources."""
    state = json.loads(stack._call("stack", "export"))["deployment"]
    kinds = {one["type"].rpartition(":")[2] for one in state["resources"]}
    return {"Queue", "Volume", "ModelServer"} <= kinds


def test_a_job_of_another_stack_runs_on_the_platform(deployed: Deployed, tmp_path: Path) -> None:
    before = _uids(deployed)
    assert "is gone" not in before.values()
    stack = _stack(deployed, tmp_path / "vision", "vision", {"search": JOB})
    stack.prepare(Step("prepare"))
    try:
        stack.up(Step("pulumi up"))
        outputs = stack.outputs()
        assert outputs["namespace"] == "tensorplane-dev"
        assert "kubeconfig" not in outputs
        ended = Running(deployed.kube, stack).ended("search")
        assert ended.succeeded, str(ended)
        assert "trained" in str(ended)
        assert stack.up(Step("pulumi up")).keys() == {"same"}, "a second update changes nothing"
        _another_stack_cannot_take_the_name(deployed, tmp_path)
        account = deployed.kube.get(f"{ACCOUNTS}/search")
        assert account
        assert account["metadata"]["labels"]["tensorplane.dev/stack"] == "vision"
    finally:
        stack.destroy(Step("destroy"))
    eventually(lambda: not deployed.kube.items(JOB_SETS, labelSelector="tensorplane.dev/stack=vision"))
    assert deployed.kube.get(f"{ACCOUNTS}/search") is None
    assert _uids(deployed) == before
    assert _leaves_state(deployed.stack)


def _another_stack_cannot_take_the_name(deployed: Deployed, tmp_path: Path) -> None:
    """From another checkout, where the file of the first stack is not there to be read."""
    stack = _stack(deployed, tmp_path / "speech", "speech", {"search": JOB})
    stack.prepare(Step("prepare"))
    try:
        with pytest.raises(UserError) as refused:
            stack.up(Step("pulumi up"))
        assert "tensorplane-dev/search" in str(refused.value)
        assert "was not created" in str(refused.value)
        assert "exists" in str(refused.value)
    finally:
        stack.destroy(Step("destroy"))
