"""Volumes that only the pods of one node, or of one zone, can mount: pods that could never do so are refused."""

from typing import Any

import pytest

from tensorplane.components.volumes.backend import Backend
from tests.support.problems import problems_of
from tests.support.rendering import GPU_IMAGE

INSIDE = {"deployFromInside": True}
EKS = {"kind": "eks", "region": "us-west-2", "endpoint": INSIDE}
GROUPS = {
    "cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 10},
    "new": {"accelerator": "h100-80gb", "perNode": 8, "max": 4, "zones": ["us-west-2a"]},
    "old": {"accelerator": "t4", "perNode": 1, "max": 8},
}
GPUS: dict[str, Any] = {"gpus": 8, "accelerator": "h100-80gb"}
EBS = {"kind": "ebs"}
ABLE = sorted(
    kind
    for kind, backend in Backend.variants.items()
    if issubclass(backend, Backend)
    and "ReadWriteMany" in backend.capabilities.access_modes
    and "eks" in (backend.clusters or {"eks"})
)
SHARING = f"use a backend with ReadWriteMany ({', '.join(ABLE)})"


def test_the_backends_with_read_write_many_are_those_of_the_cluster() -> None:
    assert {"cephfs", "efs", "nfs", "storageClass"} <= set(ABLE)
    assert not {"ebs", "filestore"} & set(ABLE)


def job(workers: int = 1, volume: str = "data", **resources: Any) -> dict[str, Any]:
    """A job that mounts the volume."""
    strategy = {"kind": "multiWorkerMirrored", "workers": workers}
    asked = {"cpus": 1, "memoryGib": 1, **resources}
    return {
        "kind": "trainingJob",
        "strategy": strategy,
        "command": ["a"],
        "image": GPU_IMAGE,
        "resources": asked,
        "volumes": {volume: "/v"},
    }


def server(volume: str = "data", replicas: int = 1, **resources: Any) -> dict[str, Any]:
    """A server of a model on the volume."""
    asked = {"cpus": 1, "memoryGib": 1, **resources}
    return {"kind": "modelServer", "model": {"volume": volume, "path": "m"}, "replicas": replicas, "resources": asked}


def stack(volumes: dict[str, Any] | None = None, **workloads: Any) -> dict[str, Any]:
    """A stack on EKS; by default with one volume, whose backend is the cluster's usual one."""
    volumes = {name: {"sizeGib": 100, **args} for name, args in (volumes or {"data": {}}).items()}
    return {"cluster": EKS, "nodeGroups": GROUPS, "volumes": volumes, "workloads": workloads}


def on(zone: str, **more: Any) -> dict[str, Any]:
    """A disk in this zone."""
    return {"backend": EBS, "placement": {"zones": [f"us-west-2{zone}"]}, **more}


@pytest.mark.parametrize("backend", [{}, {"backend": EBS}])
def test_workers_that_fill_several_nodes_cannot_share_a_disk(backend: dict[str, Any]) -> None:
    assert problems_of(stack({"data": backend}, train=job(4, **GPUS))) == [
        "tensorplane:workloads.train.volumes.data: volume data is ReadWriteOnce, so the 4 pods must share a node, "
        f"but a node has room for 1 of them; {SHARING}, or use larger nodes"
    ]


def pipeline(**stage: Any) -> dict[str, Any]:
    """A pipeline with one stage between datasets of the volume."""
    return {"kind": "pipeline", "stages": {"train": {"inputs": {"photos": "raw"}, "output": "made", **stage}}}


def _with_datasets(**workloads: Any) -> dict[str, Any]:
    return {**stack(**workloads), "datasets": {"raw": {"volume": "data"}, "made": {"volume": "data"}}}


def test_the_pods_of_a_stage_that_is_a_job_share_a_disk_as_those_of_other_jobs() -> None:
    gang = {key: value for key, value in job(4, **GPUS).items() if key not in ("kind", "volumes")}
    assert problems_of(_with_datasets(photos=pipeline(job=gang))) == [
        "tensorplane:workloads.photos.stages.train.inputs.photos.dataset: volume data is ReadWriteOnce, so the 4 pods "
        f"must share a node, but a node has room for 1 of them; {SHARING}, or use larger nodes"
    ]


def test_parts_of_a_stage_wait_for_each_other_where_a_disk_has_room_for_one() -> None:
    parts = {"command": ["a"], "image": "team/stage:1", "resources": {"cpus": 6, "memoryGib": 1}, "parallel": 4}
    assert problems_of(_with_datasets(photos=pipeline(**parts))) == []
    (line,) = problems_of(_with_datasets(photos=pipeline(**parts), other=server(cpus=4)))
    assert line.endswith(f"no node has room for these pods and those of other, which also mounts it; {SHARING}")


def test_what_could_be_shared_and_is_not_is_told_how() -> None:
    volume = {"backend": {"kind": "efs"}, "accessModes": ["ReadWriteOnce"]}
    (line,) = problems_of(stack({"data": volume}, train=job(4, **GPUS)))
    assert line.endswith("a node has room for 1 of them; set its accessModes to [ReadWriteMany], or use larger nodes")


@pytest.mark.parametrize(
    ("resources", "most"),
    [({"gpus": 2, "accelerator": "h100-80gb"}, 4), ({"gpus": 1, "accelerator": "t4"}, 1), ({"cpus": 4}, 2),
     ({"memoryGib": 8}, 4)],
)  # fmt: skip
def test_workers_share_a_disk_where_they_fit_on_a_node(resources: dict[str, Any], most: int) -> None:
    assert problems_of(stack(train=job(most, **resources))) == []
    (line,) = problems_of(stack(train=job(most + 1, **resources)))
    reason = (
        f"volume data is ReadWriteOnce, so the {most + 1} pods must share a node, but a node has room for {most} of"
    )
    assert line.startswith(f"tensorplane:workloads.train.volumes.data: {reason}")


def test_what_all_nodes_share_has_workers_on_all_of_them() -> None:
    assert problems_of(stack({"data": {"backend": {"kind": "efs"}}}, train=job(4, **GPUS), serve=server())) == []


def test_a_job_cannot_share_a_disk_with_a_server_on_other_nodes() -> None:
    assert problems_of(stack(train=job(1, **GPUS), serve=server())) == [
        "tensorplane:workloads.train.volumes.data: volume data is ReadWriteOnce, but no node has room for these pods "
        f"and those of serve, which also mounts it; {SHARING}"
    ]
    assert problems_of(stack(train=job(2, cpus=2), serve=server())) == []


def test_servers_of_other_nodes_cannot_share_a_disk() -> None:
    (line,) = problems_of(stack(a=server(), b=server(gpus=1, accelerator="t4")))
    assert line.startswith(
        "tensorplane:workloads.b.model.volume: volume data is ReadWriteOnce, but no node has room for these pods"
    )
    (line,) = problems_of(stack(a=server(replicas=3, cpus=4)))
    assert line.startswith(
        "tensorplane:workloads.a.model.volume: volume data is ReadWriteOnce, so the 3 pods must share a node, but"
    )


def test_jobs_use_a_disk_one_after_the_other() -> None:
    assert problems_of(stack(a=job(1, **GPUS), b=job(1, cpus=8))) == []


def test_nodes_that_nobody_describes_may_take_everything() -> None:
    tree = stack(train=job(4, **GPUS), serve=server())
    del tree["nodeGroups"]
    assert (
        problems_of({**tree, "cluster": {"kind": "existing", "context": "lab"}, "workloads": {"a": job(4, cpus=99)}})
        == []
    )
    groups = {"gpu": {"accelerator": "h100-80gb", "perNode": 8, "max": 4}, "cpu": {"max": 4}}
    tree = {**tree, "cluster": {"kind": "existing", "context": "lab"}, "nodeGroups": groups}
    keys = [line.split(": ")[0] for line in problems_of(tree)]
    assert keys == ["tensorplane:workloads.train.volumes.data"]
    assert problems_of({**tree, "workloads": {"train": job(8, cpus=99, gpus=1, accelerator="h100-80gb")}}) == []


def test_pods_and_their_disk_have_a_zone_in_common() -> None:
    assert problems_of(stack({"data": on("b")}, train=job(1, **GPUS))) == [
        "tensorplane:workloads.train.volumes.data: the pods of train are in us-west-2a, but volume data is "
        "in us-west-2b, and a disk, its clones and the pods that mount it must share a zone; place both in "
        "one zone, or use a backend that spans zones"
    ]
    assert problems_of(stack({"data": on("a")}, train=job(1, **GPUS))) == []
    assert problems_of(stack({"data": on("b")}, train=job(1))) == []


def test_azure_nodes_in_no_zone_mount_no_disk_of_a_zone() -> None:
    cluster = {"kind": "aks", "region": "westeurope", "inheritedAdmins": True, "endpoint": INSIDE}
    cpu = {"machine": "Standard_D8s_v5", "min": 2, "max": 4}
    disk = {"backend": {"kind": "azureDisk"}, "placement": {"zones": ["1"]}}
    tree = stack({"data": disk}, train=job(1, gpus=1, accelerator="t4"))
    tree |= {"cluster": cluster, "nodeGroups": {"cpu": cpu, "gpu": {"accelerator": "t4", "max": 4}}}
    (line,) = problems_of(tree)
    says = "the pods of train are in no zone, but volume data is in 1, and a disk, its clones and the pods that mount"
    assert line.startswith(f"tensorplane:workloads.train.volumes.data: {says}")
    tree["nodeGroups"]["gpu"]["zones"] = ["1"]
    assert problems_of(tree) == []
    del tree["nodeGroups"]["gpu"]["zones"], tree["volumes"]["data"]["placement"]
    assert problems_of(tree) == []
    # The disk is made where the first pod is, and the other's machine could not take it.
    tree["workloads"]["prepare"] = job(1)
    (line,) = problems_of(tree)
    assert "are in no zone, but the pods of " in line


def test_a_disk_and_its_clone_are_in_one_zone() -> None:
    volumes = {"data": on("a"), "copy": on("b", **{"from": {"volume": "data"}})}
    (line,) = problems_of(stack(volumes))
    assert line.startswith(
        "tensorplane:volumes.data.placement.zones: volume data is in us-west-2a, but volume copy is in us-west-2b,"
    )
    assert problems_of(stack({**volumes, "copy": on("a", **{"from": {"volume": "data"}})})) == []
    assert problems_of(stack({**volumes, "copy": on("b", **{"from": {"snapshot": "noon"}})})) == []


def test_a_clone_takes_its_origins_zone_to_the_pods_that_mount_it() -> None:
    volumes = {"data": on("b"), "copy": {"backend": EBS, "from": {"volume": "data"}}}
    (line,) = problems_of(stack(volumes, train=job(1, "copy", **GPUS)))
    assert line.startswith("tensorplane:workloads.train.volumes.copy: the pods of train are in us-west-2a, but")


def test_workloads_that_share_a_disk_have_a_zone_in_common() -> None:
    tree = stack(a=job(1, gpus=1, nodeGroup="old"), b=job(1, **GPUS))
    assert problems_of(tree) == []
    tree["nodeGroups"] = {**GROUPS, "old": {**GROUPS["old"], "zones": ["us-west-2b"]}}
    (line,) = problems_of(tree)
    assert line.startswith(
        "tensorplane:workloads.b.volumes.data: the pods of b are in us-west-2a, but the pods of a are in"
    )


def test_disks_of_one_pod_are_in_one_zone() -> None:
    tree = stack({"data": on("a"), "more": on("b")}, train=job(1))
    tree["workloads"]["train"]["volumes"]["more"] = "/more"
    (line,) = problems_of(tree)
    assert "volume more is in us-west-2b, but volume data is in us-west-2a" in line


@pytest.mark.parametrize(
    ("cluster", "zone", "other", "reaching", "bound"),
    [
        ({"kind": "gke", "project": "acme-ml", "region": "us-central1"}, "us-central1-a", "us-central1-b",
         {"kind": "filestore"}, {"kind": "persistentDisk"}),
        ({"kind": "aks", "region": "westeurope", "inheritedAdmins": True, "endpoint": INSIDE}, "1", "2",
         {"kind": "azureDisk", "sku": "Premium_ZRS"}, {"kind": "azureDisk"}),
    ],
    ids=["gke", "aks"],
)  # fmt: skip
def test_disks_of_other_clouds(
    cluster: dict[str, Any], zone: str, other: str, reaching: dict[str, Any], bound: dict[str, Any]
) -> None:
    machine = "n2-standard-8" if cluster["kind"] == "gke" else "Standard_D8s_v5"
    groups = {"cpu": {"machine": machine, "min": 1, "max": 2, "zones": [zone]}}
    volume = {"sizeGib": 1024, "placement": {"zones": [other]}}
    tree = {"cluster": cluster, "nodeGroups": groups, "workloads": {"train": job()}}
    (line,) = problems_of({**tree, "volumes": {"data": {**volume, "backend": bound}}})
    assert line.startswith(
        f"tensorplane:workloads.train.volumes.data: the pods of train are in {zone}, but volume data"
    )
    assert problems_of({**tree, "volumes": {"data": {**volume, "backend": reaching}}}) == []


def test_what_is_wrong_by_itself_is_one_line() -> None:
    (line,) = problems_of(stack({"data": on("z")}, train=job(1, **GPUS)))
    assert line.startswith("tensorplane:volumes.data.placement.zones: us-west-2z is not a zone of the cluster;")
    (line,) = problems_of(stack({"data": {"backend": {"kind": "persistentDisk"}}}, train=job(4, **GPUS)))
    assert line.startswith("tensorplane:volumes.data.backend: persistentDisk requires cluster kind gke, but the")


def test_the_default_class_of_a_cloud_makes_disks_for_one_node() -> None:
    assert problems_of(stack({"data": {"accessModes": ["ReadWriteMany"]}})) == [
        "tensorplane:volumes.data.accessModes: ReadWriteMany is not supported by the default StorageClass "
        "(EBS disks), which is ReadWriteOnce; set another class or kind in backend"
    ]
    named = {"accessModes": ["ReadWriteMany"], "backend": {"kind": "storageClass", "name": "files"}}
    assert problems_of(stack({"data": named})) == []


def test_servers_and_jobs_without_a_queue_fit_the_full_groups() -> None:
    efs = {"data": {"backend": {"kind": "efs"}}}
    assert problems_of(stack(efs, serve=server(replicas=4, **GPUS))) == []
    assert problems_of(stack(efs, serve=server(replicas=5, **GPUS))) == [
        "tensorplane:workloads.serve.replicas: 5 pods do not fit: full node groups new hold 4 of them; set 4 or "
        "less, or raise max there"
    ]
    (line,) = problems_of(stack(efs, serve=server(replicas=41, cpus=2)))
    assert line.startswith("tensorplane:workloads.serve.replicas: 41 pods do not fit: full node groups cpu hold 40")
    assert problems_of(stack(efs, train=job(8, gpus=1, accelerator="t4"))) == []
    (line,) = problems_of(stack(efs, train=job(9, gpus=1, accelerator="t4")))
    assert line.startswith(
        "tensorplane:workloads.train.strategy.workers: 9 pods do not fit: full node groups old hold 8"
    )


def test_servers_together_fit_the_full_groups() -> None:
    efs = {"data": {"backend": {"kind": "efs"}}}
    both = {"a": server(replicas=3, **GPUS), "b": server(replicas=2, **GPUS)}
    assert problems_of(stack(efs, **both)) == [
        "tensorplane:workloads.a.replicas: servers a, b use 40 GPUs at once, but node groups new have at "
        "most 32; lower replicas, or raise max of a node group"
    ]
    assert problems_of(stack(efs, **{**both, "b": server(**GPUS)})) == []
