"""Node groups as kops' InstanceGroups, for a cluster on AWS that kops made."""

from collections.abc import Iterator, Mapping
from typing import Any

from components.cluster import ClusterArgs
from components.faults import Fault
from components.node_group import SPOT, Shape

API = "kops.k8s.io/v1alpha2"
CLOUD = "eks"
"""Whose machines kops rents on AWS, as the catalog names it."""

_TEMPLATE = "k8s.io/cluster-autoscaler/node-template"
_AUTOSCALER_LABEL = "k8s.amazonaws.com/accelerator"
_SPOT_ALTERNATIVES = 3
_PLUGIN_TOLERATES = "nvidia.com/gpu"
_DRIVER = 535
_NEEDS_NEWER_DRIVER = {"blackwell": 570}


def faults(
    cluster: ClusterArgs, groups: Mapping[str, Shape], runtime: str, *, image: str | None, driver: str | None
) -> Iterator[Fault]:
    """Why there can be no InstanceGroups of these groups. `runtime` is the kind of the stack's GPU runtime."""
    if cluster.kind != "existing":
        yield Fault(("cluster", "kind"), f"got {cluster.kind}: kops' clusters are of kind existing")
        return
    if cluster.site.cloud != CLOUD:
        found = f"got {cluster.site.cloud}" if cluster.site.cloud else "missing"
        yield Fault(("cluster", "machines"), f"{found}: kops rents machines of AWS, need {CLOUD}")
        return
    if not groups:
        yield Fault(("nodeGroups",), "missing: an InstanceGroup is made of each")
    by_arch = {shape.machine.arch: name for name, shape in groups.items() if shape.machine}
    if image and len(by_arch) > 1:
        listed = " and ".join(f"{arch} ({name})" for arch, name in sorted(by_arch.items()))
        yield Fault(
            ("nodeGroups",), f"of {listed}, and --image is for one of them: leave it out, kops has one for each"
        )
    if runtime == "plugin" and any(shape.accelerator for shape in groups.values()):
        reason = "got plugin, and kops installs a device plugin with the driver: need present, or operator for both"
        yield Fault(("gpuRuntime", "kind"), reason)
    for name, shape in groups.items():
        path = ("nodeGroups", name)
        if shape.accelerator and runtime == "present":
            yield from _out_of_the_plugins_reach(path, shape)
            yield from _driver_too_old(path, shape, driver)


def _out_of_the_plugins_reach(path: tuple[str, ...], shape: Shape) -> Iterator[Fault]:
    for taint in shape.taints:
        if taint.key != _PLUGIN_TOLERATES and taint.effect != "PreferNoSchedule":
            key = "spot" if taint.key == SPOT else "taints"
            reason = f"kops' device plugin does not tolerate {taint}, so that the nodes would have no GPUs"
            yield Fault((*path, key), f"{reason}: need gpuRuntime kind operator", given=(("gpuRuntime",),))


def _driver_too_old(path: tuple[str, ...], shape: Shape, driver: str | None) -> Iterator[Fault]:
    architecture = shape.accelerator.architecture if shape.accelerator else ""
    needed = _NEEDS_NEWER_DRIVER.get(architecture)
    if needed and driver is None:
        reason = f"{architecture} needs driver {needed}, kops installs {_DRIVER}: name a package of Ubuntu's with"
        yield Fault((*path, "accelerator"), f"{reason} --driver, or use gpuRuntime kind operator")


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
    # Without it, the autoscaler takes a node whose plugin still starts for one without GPUs, and adds another.
    waited_for = {_AUTOSCALER_LABEL: shape.accelerator.name} if shape.accelerator else {}
    return {**shape.labels, **waited_for}


def _cloud_labels(shape: Shape, cluster: str) -> dict[str, str]:
    """Tags by which the autoscaler finds the group, and what it cannot tell from an empty one.

    Labels and taints are left out: kops makes tags of them by itself.
    """
    resources = {**shape.resources, "ephemeral-storage": f"{shape.args.disk_gib}Gi"}
    return {
        "k8s.io/cluster-autoscaler/enabled": "true",
        f"k8s.io/cluster-autoscaler/{cluster}": "owned",
        **{f"{_TEMPLATE}/resources/{name}": str(amount) for name, amount in resources.items()},
    }


def _spot(shape: Shape) -> dict[str, Any]:
    if not shape.args.spot or shape.machine is None:
        return {}
    alike = [machine.name for machine in shape.alternatives if machine.arch == shape.machine.arch]
    policy = {
        "instances": [shape.machine.name, *alike[:_SPOT_ALTERNATIVES]],
        "onDemandBase": 0,
        "onDemandAboveBase": 0,
        "spotAllocationStrategy": "price-capacity-optimized",
    }
    return {"mixedInstancesPolicy": policy, "capacityRebalance": True}


def _driver(shape: Shape, runtime: str, driver: str | None) -> dict[str, Any]:
    """Driver, container toolkit and device plugin by kops, where the stack's GPU Operator does not bring them."""
    if shape.accelerator is None or runtime == "operator":
        return {}
    return {"containerd": {"nvidiaGPU": {"enabled": True, **({"package": driver} if driver else {})}}}
