"""Node groups as kops' InstanceGroups, for a kops cluster on AWS."""

from collections.abc import Iterator, Mapping
from typing import Any

from tensorplane.components.base.labels import AUTOSCALER_TEMPLATE, EKS_ACCELERATOR, SPOT
from tensorplane.components.base.problems import Problem
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.node_groups.shape import Shape

API = "kops.k8s.io/v1alpha2"
CATALOG = "eks"
"""Name of the catalog with AWS' machines."""

_SPOT_ALTERNATIVES = 3
_DEFAULT_DRIVER = 535
_NEEDS_NEWER_DRIVER = {"blackwell": 570}


def find_problems(
    cluster: ClusterArgs, groups: Mapping[str, Shape], runtime: str, *, image: str | None, driver: str | None
) -> Iterator[Problem]:
    """Why these groups cannot be InstanceGroups. `runtime`: the kind of the stack's GPU runtime."""
    if cluster.kind != "existing":
        yield Problem(("cluster", "kind"), f"cluster kind {cluster.kind} is not run by kops; use kind existing")
        return
    cloud = cluster.cluster_properties.cloud
    if cloud != CATALOG:
        found = f"machines is {cloud}" if cloud else "machines is not set"
        yield Problem(("cluster", "machines"), f"{found}, but kops runs clusters on AWS; set it to {CATALOG}")
        return
    if not groups:
        yield Problem(("nodeGroups",), "no node groups are declared; declare one per InstanceGroup")
    by_arch = {shape.machine.arch: name for name, shape in groups.items() if shape.machine}
    if image and len(by_arch) > 1:
        architectures = " and ".join(f"{arch} ({name})" for arch, name in sorted(by_arch.items()))
        yield Problem(
            ("nodeGroups",),
            f"the groups have {architectures}, and --image fits one architecture; omit --image to use kops' own images",
        )
    if runtime == "plugin" and any(shape.accelerator for shape in groups.values()):
        reason = "kops already installs a device plugin with the driver; use kind present, or operator to install both"
        yield Problem(("gpuRuntime", "kind"), reason)
    for name, shape in groups.items():
        path = ("nodeGroups", name)
        if shape.accelerator and runtime == "present":
            yield from _untolerated_taints(path, shape)
            yield from _default_driver_too_old(path, shape, driver)


def _untolerated_taints(path: tuple[str, ...], shape: Shape) -> Iterator[Problem]:
    for taint in shape.taints:
        if taint.key != GPU_RESOURCE and taint.effect != "PreferNoSchedule":
            key = "spot" if taint.key == SPOT else "taints"
            reason = f"kops' device plugin does not tolerate {taint}, so the nodes would have no GPUs"
            yield Problem((*path, key), f"{reason}; use gpuRuntime kind operator", given=(("gpuRuntime",),))


def _default_driver_too_old(path: tuple[str, ...], shape: Shape, driver: str | None) -> Iterator[Problem]:
    architecture = shape.accelerator.architecture if shape.accelerator else ""
    needed_driver = _NEEDS_NEWER_DRIVER.get(architecture)
    if needed_driver and driver is None:
        reason = f"{architecture} requires driver {needed_driver}, and kops installs {_DEFAULT_DRIVER}"
        remedy = "name a newer Ubuntu package with --driver, or use gpuRuntime kind operator"
        yield Problem((*path, "accelerator"), f"{reason}; {remedy}")


def instance_group(
    shape: Shape, cluster: str, runtime: str, *, image: str | None = None, driver: str | None = None
) -> dict[str, Any]:
    """The manifest of one group of a cluster, which `kops replace --force -f` takes."""
    if shape.machine is None:
        raise ValueError(f"{shape.name} has no machine: it was not resolved with a catalog")
    spec: dict[str, Any] = {
        "role": "Node",
        "machineType": shape.machine.name,
        "minSize": shape.args.min,
        "maxSize": shape.args.max,
        **({"image": image} if image else {}),
        **({"subnets": list(shape.args.zones)} if shape.args.zones else {}),
        "rootVolumeSize": shape.args.disk_gib,
        "rootVolumeType": "gp3",
        "rootVolumeEncryption": True,
        "instanceMetadata": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
        "nodeLabels": _labels(shape),
        "taints": [str(taint) for taint in shape.taints],
        "cloudLabels": _cloud_labels(shape, cluster),
        **_spot(shape),
        **_driver(shape, runtime, driver),
    }
    metadata = {"name": shape.name, "labels": {"kops.k8s.io/cluster": cluster}}
    return {"apiVersion": API, "kind": "InstanceGroup", "metadata": metadata, "spec": spec}


def _labels(shape: Shape) -> dict[str, str]:
    # Otherwise, the autoscaler assumes that a node whose plugin still starts has no GPUs, and adds another.
    autoscaler_label = {EKS_ACCELERATOR: shape.accelerator.name} if shape.accelerator else {}
    return {**shape.labels, **autoscaler_label}


def _cloud_labels(shape: Shape, cluster: str) -> dict[str, str]:
    """Tags by which the autoscaler finds the group, and that describe an empty one.

    Without labels and taints, for which kops creates tags.
    """
    resources = {**shape.resources, "ephemeral-storage": f"{shape.args.disk_gib}Gi"}
    return {
        "k8s.io/cluster-autoscaler/enabled": "true",
        f"k8s.io/cluster-autoscaler/{cluster}": "owned",
        **{f"{AUTOSCALER_TEMPLATE}/resources/{name}": str(amount) for name, amount in resources.items()},
    }


def _spot(shape: Shape) -> dict[str, Any]:
    if not shape.args.spot or shape.machine is None:
        return {}
    similar_machines = [machine.name for machine in shape.alternatives if machine.arch == shape.machine.arch]
    policy = {
        "instances": [shape.machine.name, *similar_machines[:_SPOT_ALTERNATIVES]],
        "onDemandBase": 0,
        "onDemandAboveBase": 0,
        "spotAllocationStrategy": "price-capacity-optimized",
    }
    return {"mixedInstancesPolicy": policy, "capacityRebalance": True}


def _driver(shape: Shape, runtime: str, driver: str | None) -> dict[str, Any]:
    """Driver, container toolkit and device plugin by kops, unless the stack's GPU Operator installs them."""
    if shape.accelerator is None or runtime == "operator":
        return {}
    return {"containerd": {"nvidiaGPU": {"enabled": True, **({"package": driver} if driver else {})}}}
