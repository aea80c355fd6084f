"""Where the real scheduler puts the stack's pods in a fleet of three generations of GPUs, and who follows the fleet."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tensorplane.components.base.labels import GPU_PRESENT
from tensorplane.components.clusters.embedded import NODE
from tensorplane.core.step import Step
from tensorplane.driver import watch
from tests.simulated_fleet.conftest import CHANGING, Deployed, Trial
from tests.support.status_lines import status_lines
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("a cluster of its own; told by a model in tests/unit/node_groups")
PLACED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "an accelerator, anywhere": ({"gpus": 1, "accelerator": "t4"}, ("", "", "turing", "turing")),
    "a whole node": ({"gpus": 8, "accelerator": "a100-80gb"}, ("ampere", "ampere")),
    "a group by its name": ({"gpus": 4, "accelerator": "h100-80gb", "node_group": "hopper"}, ("", "hopper")),
    "a group whose taint it does not name": ({"gpus": 1, "accelerator": "h100-80gb"}, ("",)),
    "spot nodes too": (
        {"gpus": 1, "accelerator": "t4", "interruptible": True},
        ("", "turing", "turing", "turing-spot"),
    ),
    "no GPUs": ({"cpus": 0.1, "memory_gib": 0.1}, (NODE, NODE)),
    "a group without GPUs": ({"cpus": 16, "node_group": "cpu"}, ("", "cpu", "cpu")),
}
"""What pods ask for, and the groups where they run; "" is for nowhere."""


def test_the_stacks_own_workloads_run_where_they_ask_to_and_jobs_end(deployed: Deployed) -> None:
    groups = deployed.groups()

    def places(workload: str) -> list[str]:
        pods = deployed.pods(labelSelector=f"app.kubernetes.io/name={workload}")
        return sorted(groups.get(pod["spec"].get("nodeName", ""), "") for pod in pods)

    eventually(lambda: places("digits") == ["ampere", "ampere"])
    eventually(lambda: places("search") in (["turing"], ["turing-spot"]))
    eventually(lambda: places("digits-server") == ["hopper"])
    outputs = watch.Outputs.of(deployed.stack(deployed.settings).outputs())
    assert watch.is_simulated(deployed.kube, outputs)
    watch.wait_for_training(deployed.kube, outputs, Step("training"))
    watch.wait_for_serving(deployed.kube, outputs, Step("serving"))


@pytest.mark.parametrize(("asked", "places"), PLACED.values(), ids=PLACED)
def test_a_pod_runs_on_the_group_that_it_asks_for_or_nowhere(
    trial: Trial, asked: dict[str, Any], places: tuple[str, ...]
) -> None:
    trial.goes(*places, **asked)


def test_a_pod_that_asks_for_any_gpu_runs_on_any_but_spot_and_the_teams(trial: Trial) -> None:
    # More than there are, so that every node that would take one is full.
    trial.fills({"turing", "ampere", ""}, 40, gpus=1, cpus=0.1, memory_gib=0.1)


def test_the_device_plugin_runs_on_every_node_with_gpus_whatever_its_taints(deployed: Deployed) -> None:
    nodes = deployed.kube.items("/api/v1/nodes", labelSelector=f"{GPU_PRESENT}=true")
    wanted = {node["metadata"]["name"] for node in nodes}

    def running() -> set[str]:
        pods = deployed.kube.items("/api/v1/pods", labelSelector="app.kubernetes.io/name=nvidia-device-plugin")
        return {pod["spec"].get("nodeName") for pod in pods if pod["status"]["phase"] == "Running"}

    eventually(lambda: running() == wanted)
    assert {deployed.groups()[node] for node in wanted} - CHANGING.keys() == {
        "turing",
        "turing-spot",
        "ampere",
        "hopper",
    }


def test_the_clusters_own_pods_stay_on_the_real_node(deployed: Deployed) -> None:
    def nodes() -> set[str]:
        pods = deployed.kube.items("/api/v1/pods")
        own = (pod for pod in pods if pod["metadata"]["namespace"] in ("kube-system", "jobset-system"))
        return {pod["spec"].get("nodeName", "") for pod in own}

    eventually(lambda: nodes() == {NODE})


def test_status_shows_each_node_with_its_accelerators(deployed: Deployed) -> None:
    wanted = ["hopper-0", "Ready,", "simulated", "kwok", "96", "1900.0", "GiB", "8", "h100-80gb"]
    eventually(lambda: wanted in status_lines(deployed.instance))


def test_a_run_changes_nothing_but_groups_whose_settings_have_changed(deployed: Deployed) -> None:
    assert set(deployed.stack(deployed.settings).up(Step("pulumi up"))) == {"same"}
    before = deployed.groups()
    settings = copy.deepcopy(deployed.settings)
    groups = settings["config"]["tensorplane:nodeGroups"]
    del groups["going"]
    groups["changing"] |= {"accelerator": "v100", "labels": {"rack": "7"}}
    deployed.stack(settings).up(Step("pulumi up"))

    after = deployed.groups()
    assert (before.keys() - after.keys(), after.keys() - before.keys()) == ({"going-0"}, set())
    (node,) = (one for one in deployed.kube.items("/api/v1/nodes") if one["metadata"]["name"] == "changing-0")
    labels = node["metadata"]["labels"]
    assert (labels["tensorplane.dev/accelerator"], labels["rack"]) == ("v100", "7")
