"""A pipeline whose pods are on a node that dies: Argo repeats the parts on the other one, and the run ends well."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tensorplane import images, toolchain
from tensorplane.components.base.labels import FENCED
from tensorplane.core.kube import Kube
from tensorplane.core.step import Step
from tensorplane.driver.target import Target
from tensorplane.driver.update.stack import open_stack
from tensorplane.embedded import cluster
from tests.e2e.pipelines import deployed
from tests.e2e.pipelines.deployed import Pipelines, stages_of
from tests.support import cluster_fixture
from tests.support.nodes import RealNode
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("minutes: two nodes, Argo, and a part that sleeps")
_ARGO = "argo-workflows"
_SLEEP = 45
"""Seconds: longer than it takes until the node is lost."""
_FENCED = 3
"""Pods that may be ended by force: two parts', and the one that waits for the job."""


def _stack() -> dict[str, Any]:
    program = f'sleep {_SLEEP}; for text in /in/texts/*; do tr a-z A-Z < "$text" > "/out/${{text##*/}}"; done'
    stage = {
        "command": ["sh", "-c", program],
        "inputs": {"texts": {"dataset": "raw", "split": "file"}},
        "resources": {"cpus": 0.1, "memoryGib": 0.125},
    }
    job = {
        "strategy": {"kind": "single"},
        "command": ["sh", "-c", f"sleep {_SLEEP}; cat /in/texts/* > /out/all"],
        "queue": "training",
        "resources": {"cpus": 0.1, "memoryGib": 0.125},
    }
    settings: dict[str, Any] = {
        "cluster": {"kind": "embedded", "nodes": 2},
        "nodes": {"lostAfterSeconds": 20},
        "volumes": {"data": {"sizeGib": 1, "accessModes": ["ReadWriteMany"]}},
        "datasets": {name: {"volume": "data"} for name in ("raw", "plain", "queued", "trained")},
        "queues": {"training": {"cpus": 0.6, "memoryGib": 2}},
        "workloads": {
            "texts": {
                "kind": "pipeline",
                "stages": {
                    "plain": {**stage, "output": "plain"},
                    "queued": {**stage, "output": "queued", "queue": "training"},
                    "train": {"inputs": {"texts": "raw"}, "output": "trained", "job": job},
                },
            }
        },
    }
    return {"config": {f"tensorplane:{key}": value for key, value in settings.items()}}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Pipelines, RealNode, RealNode]]:
    """The stack, with all its controllers and agents on the first node, and both nodes."""
    with cluster_fixture.running(tmp_path_factory.mktemp("state"), "e2e", storage=True, nodes=2) as instance:
        tools = toolchain.tasks(cluster=True, pulumi=False, controllers=(_ARGO,))
        for task in (*tools, *images.tasks(streams=False, controllers=(_ARGO,))):
            if task.name.removeprefix("image ") == _ARGO:
                task.run(Step(task.name))
        cluster.load_images(instance, Step("load images"), controllers=(_ARGO,))
        kube, folder = Kube.of(instance.kubeconfig), tmp_path_factory.mktemp("texts")
        stack = open_stack(Target("", instance)).with_settings(folder, yaml.safe_dump(_stack()))
        first, second = RealNode(instance, 1), RealNode(instance, 2)
        with contextlib.ExitStack() as open_pods:
            with second.closed(kube):
                stack.up(Step("pulumi up"), state=stack.prepare(Step("prepare")))
                made = open_pods.enter_context(deployed.opened(kube, stack, folder))
            yield made, first, second


def test_what_a_node_took_along_is_repeated_elsewhere_while_it_is_dead(
    pipeline: tuple[Pipelines, RealNode, RealNode],
) -> None:
    made, first, second = pipeline
    made.put("raw", a="one")
    with first.closed(made.access.api):
        name = made.start("texts").partition(":")[0]
        eventually(lambda: len(_running(made, second)) == _FENCED)
    second.kill(stays_dead=True)
    eventually(lambda: len(_running(made, first)) == _FENCED)
    # The job's own pod is not ended by force: it writes `/out` itself.
    second.revive()
    finished = [(stage, "finished", 1, 1, 0, 0) for stage in ("plain", "queued", "train")]
    assert stages_of(made.ended(name)) == finished
    assert [made.get(dataset) for dataset in ("plain", "queued")] == [{"a.txt": "ONE"}] * 2
    assert made.get("trained") == {"all": "one"}


def _pods(pipeline: Pipelines) -> list[dict[str, Any]]:
    """Those that may be ended by force."""
    found = pipeline.access.api.items(f"/api/v1/namespaces/{pipeline.access.namespace}/pods")
    return [each for each in found if FENCED in (each["metadata"].get("annotations") or {})]


def _running(pipeline: Pipelines, node: RealNode) -> list[dict[str, Any]]:
    on = [each for each in _pods(pipeline) if each["spec"].get("nodeName") == node.name]
    return [each for each in on if each["status"]["phase"] == "Running"]
