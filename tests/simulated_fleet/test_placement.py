"""Where the real scheduler puts the stack's pods in a fleet of three generations of GPUs, and who follows the fleet."""

from __future__ import annotations

import copy
import io

from rich.console import Console

from components.base.labels import GPU_PRESENT
from components.clusters.embedded import NODE
from driver import status, watch
from embedded.step import Step
from tests.simulated_fleet.conftest import Deployed, Trial
from tests.support.waiting import eventually


def test_the_stacks_own_workloads_run_where_they_ask_to_and_jobs_end(deployed: Deployed) -> None:
    """First of all: what runs afterwards finds the jobs' GPUs free."""
    groups = deployed.groups()

    def places(workload: str) -> list[str]:
        pods = deployed.pods(labelSelector=f"app.kubernetes.io/name={workload}")
        return sorted(groups.get(pod["spec"].get("nodeName", ""), "") for pod in pods)

    eventually(lambda: places("digits") == ["ampere", "ampere"])
    eventually(lambda: places("search") in (["turing"], ["turing-spot"]))
    eventually(lambda: places("digits-server") == ["hopper"])
    outputs = watch.Outputs.of(deployed.stack(deployed.settings).outputs())
    assert watch.is_simulated(deployed.kube, outputs)
    watch.training(deployed.kube, outputs, Step("training"))
    watch.serving(deployed.kube, outputs, Step("serving"))


def test_a_pod_that_asks_for_an_accelerator_runs_on_its_group_or_nowhere(trial: Trial) -> None:
    trial.goes("", "", "turing", "turing", gpus=1, accelerator="t4")
    trial.goes("ampere", "ampere", gpus=8, accelerator="a100-80gb")
    trial.goes("", "hopper", gpus=4, accelerator="h100-80gb", node_group="hopper")


def test_a_pod_that_asks_for_any_gpu_runs_on_any_but_spot_and_the_teams(trial: Trial) -> None:
    # More than there are, so that every node that would take one is full.
    trial.fills({"turing", "ampere", ""}, 40, gpus=1, cpus=0.1, memory_gib=0.1)


def test_a_taint_of_the_settings_keeps_out_whoever_does_not_name_the_group(trial: Trial) -> None:
    trial.goes("", gpus=1, accelerator="h100-80gb")


def test_spot_nodes_take_only_what_can_be_interrupted(trial: Trial) -> None:
    trial.goes("", "turing", "turing", "turing-spot", gpus=1, accelerator="t4", interruptible=True)


def test_a_pod_without_gpus_never_runs_on_a_node_that_has_them(trial: Trial) -> None:
    trial.goes(NODE, NODE, cpus=0.1, memory_gib=0.1)
    trial.goes("", "cpu", "cpu", cpus=16, node_group="cpu")


def test_the_device_plugin_runs_on_every_node_with_gpus_whatever_its_taints(deployed: Deployed) -> None:
    nodes = deployed.kube.items("/api/v1/nodes", labelSelector=f"{GPU_PRESENT}=true")
    wanted = {node["metadata"]["name"] for node in nodes}

    def running() -> set[str]:
        pods = deployed.kube.items("/api/v1/pods", labelSelector="app.kubernetes.io/name=nvidia-device-plugin")
        return {pod["spec"].get("nodeName") for pod in pods if pod["status"]["phase"] == "Running"}

    eventually(lambda: running() == wanted)
    assert {deployed.groups()[node] for node in wanted} == {"turing", "turing-spot", "ampere", "hopper"}


def test_the_clusters_own_pods_stay_on_the_real_node(deployed: Deployed) -> None:
    pods = deployed.kube.items("/api/v1/pods")
    own = {p["spec"]["nodeName"] for p in pods if p["metadata"]["namespace"] in ("kube-system", "jobset-system")}
    assert own == {NODE}


def test_status_shows_each_node_with_its_accelerators(deployed: Deployed) -> None:
    drawn = io.StringIO()
    Console(width=160, file=drawn).print(status.report_embedded(deployed.instance))
    lines = [line.split() for line in drawn.getvalue().splitlines()]
    assert ["hopper-0", "Ready,", "simulated", "kwok", "96", "1900.0", "GiB", "8", "h100-80gb"] in lines


def test_a_second_run_changes_nothing(deployed: Deployed) -> None:
    changes = deployed.stack(deployed.settings).up(Step("pulumi up"))
    assert set(changes) == {"same"}


def test_another_accelerator_is_another_node_and_a_group_that_is_gone_leaves_nothing(deployed: Deployed) -> None:
    settings = copy.deepcopy(deployed.settings)
    groups, workloads = (settings["config"][f"tensorplane:{section}"] for section in ("nodeGroups", "workloads"))
    del groups["ampere"], workloads["digits"]
    groups["turing"] |= {"accelerator": "l4", "labels": {"rack": "7"}}
    workloads["search"]["resources"]["accelerator"] = "l4"
    deployed.stack(settings).up(Step("pulumi up"))

    nodes = {node["metadata"]["name"]: node for node in deployed.kube.items("/api/v1/nodes")}
    assert set(nodes) == {NODE, "cpu-0", "cpu-1", "turing-0", "turing-1", "turing-spot-0", "hopper-0"}
    labels = nodes["turing-0"]["metadata"]["labels"]
    assert (labels["tensorplane.dev/accelerator"], labels["rack"]) == ("l4", "7")
