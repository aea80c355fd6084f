"""Strategies whose pods could not do what the settings ask of them: one line each, before anything is created."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.problems import problems_of


def job(strategy: dict[str, Any], *command: str, **settings: Any) -> dict[str, Any]:
    """The settings of a stack with one job."""
    made = {"kind": "trainingJob", "strategy": strategy, "command": list(command or ("python3", "-m", "train"))}
    return {"workloads": {"train": {**made, **settings}}}


@pytest.mark.parametrize(
    ("kind", "command", "expected"),
    [
        (
            "multiWorkerMirrored",
            ["/trainer", "--ps_hosts=$(TF_PS_HOSTS)"],
            "uses $(TF_PS_HOSTS), which worker pods of strategy multiWorkerMirrored do not have; "
            "remove it, or choose another strategy",
        ),
        (
            "single",
            ["/trainer", "--task_index=$(TF_TASK_INDEX)"],
            "uses $(TF_TASK_INDEX), which worker pods of strategy single do not have; "
            "remove it, or choose another strategy",
        ),
        ("multiWorkerMirrored", ["/trainer", "--hosts=$(TF_WORKER_HOSTS)", "--job=$(TF_JOB_NAME)"], None),
        ("single", ["/trainer", "--to=$(MODEL_DIR)"], None),
    ],
)
def test_a_variable_of_the_cluster_needs_a_strategy_that_has_it(
    kind: str, command: list[str], expected: str | None
) -> None:
    assert problems_of(job({"kind": kind}, *command)) == (
        [f"tensorplane:workloads.train.command.1: {expected}"] if expected else []
    )


@pytest.mark.parametrize(
    ("strategy", "settings", "expected"),
    [
        (
            {},
            {"resources": {"gpus": 2}},
            "resources.gpus: is 2, but a worker of strategy parameterServer uses one GPU; ",
        ),
        (
            {"serverResources": {"gpus": 1}},
            {},
            "strategy.serverResources.gpus: is 1, but parameter servers compute on CPUs; remove it",
        ),
        (
            {"chief": {"gpus": 1}},
            {},
            "strategy.chief.gpus: is 1, but the chief computes no steps; remove it",
        ),
        (
            {"mode": "betweenGraph", "chief": {"cpus": 2}},
            {},
            "strategy.chief: mode betweenGraph has no chief pod, its first worker is the chief; remove it",
        ),
    ],
)
def test_parameter_server_jobs_refuse_what_their_pods_cannot_use(
    strategy: dict[str, Any], settings: dict[str, Any], expected: str
) -> None:
    gpus = {"cluster": {"kind": "existing", "context": "gpus"}}
    faults = problems_of(gpus | job({"kind": "parameterServer", **strategy}, image="own", **settings))
    assert any(f"workloads.train.{expected}" in fault for fault in faults), faults


@pytest.mark.parametrize(("workers", "faulty"), [(500, False), (1000, True)])
def test_a_cluster_that_one_variable_cannot_list_is_refused(workers: int, faulty: bool) -> None:
    (made,) = job({"kind": "parameterServer", "workers": workers, "servers": 1000})["workloads"].values()
    found = problems_of({"workloads": {"recommender-of-products": made}})
    listed = [fault for fault in found if "TF_CONFIG" in fault]
    assert bool(listed) is faulty, found
    assert all("strategy.workers: TF_CONFIG of 2001 pods has 1" in fault for fault in listed), listed


def test_a_tpu_slice_beyond_all_that_exist_is_refused() -> None:
    (fault,) = problems_of(job({"kind": "tpu", "topology": "999x999x999"}))
    assert "strategy.topology" in fault
    assert "a slice of at most 9,216 chips" in fault


def test_servers_of_another_command_than_python_are_refused() -> None:
    (fault,) = problems_of(job({"kind": "parameterServer"}, "/trainer"))
    assert "worker and ps pods run tensorplane's library" in fault


CHECKPOINTS = {"volumes": {"data": "/data"}, "checkpoints": {"volume": "data"}}


@pytest.mark.parametrize(
    ("strategy", "settings", "expected"),
    [
        (
            {"kind": "mirrored"},
            {},
            "resources.gpus: is 0, but strategy mirrored copies the model to each of several GPUs of its pod; set 2 or "
            "more, or use strategy single",
        ),
        ({"kind": "mirrored"}, {"resources": {"gpus": 2}}, None),
        (
            {"kind": "mirrored"},
            {"resources": {"gpus": 2, "accelerator": "t4"}},
            "resources.gpus: the largest node with t4 has 1 GPU; set gpus to 1 or less",
        ),
        (
            {"kind": "single", "evaluator": {}},
            {},
            "strategy.evaluator: is set, but checkpoints is not, and an evaluator reads the job's checkpoints; set "
            "checkpoints",
        ),
        ({"kind": "single", "evaluator": {}}, CHECKPOINTS, None),
        (
            {"kind": "single", "evaluator": {"resources": {"gpus": 1, "accelerator": "h100-80gb"}}},
            CHECKPOINTS,
            "strategy.evaluator.resources.accelerator: no node group has 'h100-80gb'; choose one of l4, t4",
        ),
        (
            {"kind": "single", "evaluator": {"command": ["evaluate --now"]}},
            CHECKPOINTS,
            "strategy.evaluator.command.0: 'evaluate --now' is a single argument; use one item for each argument: "
            "[evaluate, --now]",
        ),
        (
            {"kind": "single", "dataService": {"resources": {"gpus": 1}}},
            {},
            "strategy.dataService.resources.gpus: is 1, but tf.data service runs on CPUs; set 0",
        ),
        (
            {"kind": "single", "dataService": {}},
            {"command": ["/trainer"]},
            "command.0: '/trainer' is not Python, with which dispatcher and data-worker pods run tensorplane's "
            "library; start the command with python3, of an image that has TensorFlow",
        ),
        ({"kind": "multiWorkerMirrored", "dataService": {"workers": 3}}, {}, None),
        (
            {"kind": "multiWorkerMirrored"},
            {"resources": {"gpus": 1, "accelerator": "t4"}},
            "resources.accelerator: pods share the GPUs of shared, and workers of one job would wait for the slowest "
            "share in each step; use a group without sharing, or strategy single",
        ),
    ],
)
def test_what_a_strategy_cannot_do_is_refused_in_one_line(
    strategy: dict[str, Any], settings: dict[str, Any], expected: str | None
) -> None:
    tree = job(strategy, **settings)
    tree["volumes"] = {"data": {"sizeGib": 1, "retain": False}}
    tree["nodeGroups"] = {
        "whole": {"accelerator": "l4", "perNode": 4, "max": 2},
        "shared": {"accelerator": "t4", "perNode": 4, "max": 2, "sharing": {"kind": "timeSlicing", "replicas": 2}},
    }
    assert problems_of(tree) == ([f"tensorplane:workloads.train.{expected}"] if expected else [])


def test_a_name_leaves_room_for_the_pods_of_every_role() -> None:
    name = "n" * 36
    assert problems_of({"workloads": {name: job({"kind": "single"})["workloads"]["train"]}}) == []
    (line,) = problems_of({"workloads": {name: job({"kind": "single", "dataService": {}})["workloads"]["train"]}})
    assert line.endswith("the name has 36 characters; shorten it to 32, so that its pods' names stay valid")


TPUS: dict[str, Any] = {
    "cluster": {"kind": "gke", "project": "p-1234567", "region": "us-west1", "endpoint": {"dns": True}},
    "nodeGroups": {
        "cpu": {"machine": "e2-standard-8", "min": 1, "max": 3},
        "slice": {"accelerator": "tpu-v5e", "perNode": 4, "topology": "4x4", "max": 4, "zones": ["us-west1-c"]},
        "spot": {"accelerator": "tpu-v5e", "perNode": 8, "max": 4, "spot": True},
    },
    "queues": {"ml": {"cpus": 1, "memoryGib": 1}},
}
V5E = {"accelerator": "tpu-v5e"}


@pytest.mark.parametrize(
    ("topology", "settings", "expected"),
    [
        ("4x4", {"resources": V5E}, None),
        ("4x4", {"resources": {**V5E, "nodeGroup": "slice"}}, None),
        (
            "4x4",
            {"resources": {**V5E, "gpus": 4}},
            "resources.gpus: is 4, but strategy tpu counts chips by its topology; remove gpus",
        ),
        (
            "4x4",
            {},
            "resources.accelerator: missing, but strategy tpu runs on TPUs; set one of tpu-v3, tpu-v4, tpu-v5e, "
            "tpu-v5p",
        ),
        (
            "4x4",
            {"resources": {"accelerator": "tpu-v6e"}},
            "resources.accelerator: TensorFlow has no build for tpu-v6e; set one of tpu-v3, tpu-v4, tpu-v5e, tpu-v5p",
        ),
        (
            "8x8",
            {"resources": V5E},
            "strategy.topology: no node group has tpu-v5e as 8x8 with 4 on each machine; declare one on a GKE cluster: "
            "{accelerator: tpu-v5e, perNode: 4, topology: 8x8, max: 16}",
        ),
        (
            "4x4",
            {"resources": {**V5E, "nodeGroup": "spot"}},
            "strategy.topology: node group spot does not have tpu-v5e as 4x4 with 4 on each machine; declare one on a "
            "GKE cluster: {accelerator: tpu-v5e, perNode: 4, topology: 4x4, max: 4}",
        ),
        (
            "2x4",
            {"resources": V5E},
            "strategy.topology: no node group with such TPUs accepts the pods: spot (spot, for training jobs with "
            "checkpoints only); declare another group, or meet its condition",
        ),
        (
            "4x4",
            {"resources": V5E, "queue": "ml"},
            "queue: is set, but queues have no quota of TPUs, and Kueue would never admit the job; remove queue",
        ),
        (
            "4by4",
            {"resources": V5E},
            "strategy.topology: invalid value '4by4'; use the numbers of chips in two or three dimensions, such as 2x4 "
            "or 4x4x8",
        ),
    ],
)
def test_a_slice_that_no_job_can_use_is_refused_in_one_line(
    topology: str, settings: dict[str, Any], expected: str | None
) -> None:
    tree = {**TPUS, **job({"kind": "tpu", "topology": topology}, image="team/tpu:1", **settings)}
    assert problems_of(tree) == ([f"tensorplane:workloads.train.{expected}"] if expected else [])


def test_tpus_need_a_cluster_that_has_them_and_an_image_for_them() -> None:
    tree = job({"kind": "tpu", "topology": "2x2"}, resources=V5E)
    lines = [line.removeprefix("tensorplane:workloads.train.") for line in problems_of(tree)]
    assert [line.split(";")[0] for line in lines] == [
        "strategy.topology: no node group has tpu-v5e as 2x2 with 4 on each machine",
        "image: missing, but the default TensorFlow image does not support TPUs",
    ]
