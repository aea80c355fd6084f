"""EFA between training nodes: jobs that take all GPUs of a node ask for its interfaces, and queues let them in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tensorplane.core.errors import UserError
from tests.support import rendering
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered

CPU = {"machine": "m7i.2xlarge", "min": 2, "max": 4}
H100 = {"accelerator": "h100-80gb", "perNode": 8, "max": 4, "zones": ["us-west-2a"]}
EFA = {"vpc.amazonaws.com/efa": "32", "hugepages-2Mi": "5120Mi"}
NODE_TEMPLATE = "k8s.io/cluster-autoscaler/node-template/resources"


def job(workers: int = 2, gpus: int = 8, **more: Any) -> dict[str, Any]:
    """A job of so many workers, with so many GPUs each."""
    strategy = {"kind": "multiWorkerMirrored", "workers": workers} if workers > 1 else {"kind": "single"}
    resources = {"cpus": 8, "memoryGib": 64, "gpus": gpus}
    return {
        "kind": "trainingJob",
        "strategy": strategy,
        "command": ["python3", "train.py"],
        "image": rendering.GPU_IMAGE,
        "resources": resources,
    } | more


def made(workload: dict[str, Any], groups: dict[str, Any] | None = None, **more: Any) -> Rendered:
    """A stack on EKS with H100s and such a job."""
    cluster = {"kind": "eks", "region": "us-west-2", "endpoint": {"deployFromInside": True}}
    tree = {"cluster": cluster, "nodeGroups": {"cpu": CPU, **(groups or {"new": H100})}, "workloads": {"job": workload}}
    return rendered_tree(tree | more)


def pod(made: Rendered) -> dict[str, Any]:
    """The pods of the job's first role."""
    jobs = made.one("JobSet", "job").inputs["spec"]["replicatedJobs"]
    return dict(jobs[0]["template"]["spec"]["template"]["spec"])


def requested(made: Rendered) -> dict[str, str]:
    """What the job's pods ask for, of what is EFA's."""
    (container,) = pod(made)["containers"]
    requests, limits = container["resources"]["requests"], container["resources"]["limits"]
    found = {name: amount for name, amount in requests.items() if name in EFA}
    # Kubernetes overcommits neither.
    assert found == {name: amount for name, amount in limits.items() if name in EFA}
    return found


def test_workers_with_all_gpus_of_a_node_ask_for_its_efa() -> None:
    assert requested(made(job())) == EFA


def test_workers_that_leave_gpus_of_a_node_to_others_leave_them_the_network_too() -> None:
    assert requested(made(job(gpus=4))) == {}


def test_a_job_of_one_pod_asks_for_no_network() -> None:
    assert requested(made(job(workers=1))) == {}


def test_workers_that_may_get_nodes_without_efa_are_not_kept_off_them() -> None:
    groups = {"new": H100, "one": {**H100, "max": 1, "zones": ["us-west-2b"]}}
    assert requested(made(job(), groups)) == {}
    named = job()
    named["resources"]["nodeGroup"] = "new"
    assert requested(made(named, groups)) == EFA


def test_kueue_admits_a_job_that_asks_for_efa() -> None:
    queues = {"research": {"cpus": 16, "memoryGib": 128, "gpus": {"h100-80gb": 32}}}
    found = made(job(queue="research"), queues=queues)
    values = found.one("Release", "kueue").inputs["values"]
    configuration = json.loads(values["managerConfig"]["controllerManagerConfigYaml"])
    # No queue counts them, and of what a queue does not count, Kueue admits none.
    assert configuration["resources"] == {"excludeResourcePrefixes": sorted(EFA)}
    (group,) = found.one("ClusterQueue").inputs["spec"]["resourceGroups"]
    assert not set(EFA) & set(group["coveredResources"])


def test_the_autoscaler_knows_that_an_empty_group_will_have_efa() -> None:
    tags = {tag.inputs["tag"]["key"]: tag.inputs["tag"]["value"] for tag in made(job()).all("autoscaling/tag:Tag")}
    assert tags[f"{NODE_TEMPLATE}/vpc.amazonaws.com/efa"] == "32"
    assert tags[f"{NODE_TEMPLATE}/hugepages-2Mi"] == "10256Mi"


def test_gpus_of_one_pod_share_memory() -> None:
    spec = pod(made(job()))
    assert {"name": "shm", "emptyDir": {"medium": "Memory"}} in spec["volumes"]
    assert {"name": "shm", "mountPath": "/dev/shm"} in spec["containers"][0]["volumeMounts"]


def test_a_pod_with_one_gpu_has_nothing_to_share() -> None:
    spec = pod(made(job(gpus=1)))
    assert not [volume for volume in spec["volumes"] if volume["name"] == "shm"]


def test_a_job_may_ask_for_interfaces_itself_and_no_more_than_a_node_has() -> None:
    def with_efa(count: int) -> dict[str, Any]:
        workload = job(gpus=4)
        workload["resources"]["extended"] = {"vpc.amazonaws.com/efa": count}
        return workload

    assert requested(made(with_efa(4))) == {"vpc.amazonaws.com/efa": "4"}
    with pytest.raises(UserError, match="efa: is 33, but nodes of new offer 32; use machines with EFA"):
        made(with_efa(33))


def test_queues_have_no_quota_of_extended_resources() -> None:
    workload = job(queue="training")
    workload["resources"]["extended"] = {"example.com/fpga": 1}
    kueue = made(workload, queues={"training": {"gpus": {"h100-80gb": 32}}}).one("Release", "kueue")
    manager = json.dumps(kueue.inputs["values"])
    assert all(name in manager for name in ("example.com/fpga", "vpc.amazonaws.com/efa"))
