"""Jobs on TPU slices: a pod for each machine, the labels by which GKE schedules it, and each other's names."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.workloads.training_job.context import JobContext, Placement
from tensorplane.workloads.training_job.manifest import plan
from tensorplane.workloads.training_job.role import total
from tensorplane.workloads.training_job.settings import JobSettings


def settings(topology: str, accelerator: str = "tpu-v5e", **strategy: Any) -> JobSettings:
    return JobSettings.model_validate(
        {
            "command": ["python3", "train.py"],
            "strategy": {"kind": "tpu", "topology": topology, **strategy},
            "resources": {"accelerator": accelerator, "cpus": 24, "memoryGib": 96},
        }
    )


def job_of(made: JobSettings) -> tuple[str, dict[str, Any]]:
    placement = Placement({"nodeSelector": {"tensorplane.dev/accelerator": "tpu-v5e"}})
    manifest = plan(made, JobContext("train", "ml", {"worker": placement}), image="team/tpu:1")
    (job,) = manifest.job_set["spec"]["replicatedJobs"]
    return manifest.run.name, job["template"]


def environment(job: dict[str, Any]) -> dict[str, str]:
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each.get("value", "") for each in container["env"]}


@pytest.mark.parametrize(
    ("topology", "per_node", "accelerator", "machines", "chips"),
    [
        ("2x2", None, "tpu-v5e", 1, 4),
        ("2x4", None, "tpu-v5e", 1, 8),
        ("2x4", 4, "tpu-v5e", 2, 4),
        ("4x4", None, "tpu-v5e", 4, 4),
        ("2x2x1", None, "tpu-v4", 1, 4),
        ("2x2x2", None, "tpu-v5p", 2, 4),
        ("4x4x8", None, "tpu-v4", 32, 4),
    ],
)
def test_every_machine_of_the_slice_has_a_pod(
    topology: str, per_node: int | None, accelerator: str, machines: int, chips: int
) -> None:
    made = settings(topology, accelerator, perNode=per_node)
    _, job = job_of(made)
    assert job["spec"]["completions"] == machines
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["google.com/tpu"] == str(chips)
    assert total(made.roles()).gpus == 0, "chips are no GPUs"


def test_pods_select_the_nodes_of_such_a_slice() -> None:
    _, job = job_of(settings("4x4"))
    assert job["spec"]["template"]["spec"]["nodeSelector"] == {
        "tensorplane.dev/accelerator": "tpu-v5e",
        "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
        "cloud.google.com/gke-tpu-topology": "4x4",
    }


def test_several_machines_are_of_one_node_pool_and_know_each_other() -> None:
    run, job = job_of(settings("4x4"))
    exclusive = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"}
    assert job["metadata"] == {"annotations": exclusive}
    values = environment(job)
    assert values["TPU_WORKER_HOSTNAMES"] == ",".join(f"{run}-worker-0-{index}.{run}" for index in range(4))
    assert values["TPU_WORKER_ID"] == "$(TF_TASK_INDEX)"
    assert list(values).index("TF_TASK_INDEX") < list(values).index("TPU_WORKER_ID")


def test_one_machine_needs_no_names() -> None:
    _, job = job_of(settings("2x4"))
    assert "metadata" not in job
    assert not {"TF_CONFIG", "TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES", "TENSORPLANE_GPUS"} & environment(job).keys()
