"""Node groups with node auto-provisioning, with a ComputeClass for each."""

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
from pulumi_gcp import container

from tensorplane.components.clusters.gke.control_plane import CLOUD_PLATFORM
from tensorplane.components.clusters.gke.node_pools import CONTAINER_OS, disk_type
from tensorplane.components.clusters.gke.settings import GkeSettings
from tensorplane.components.clusters.gke.zones import zones_of
from tensorplane.components.node_groups.component import NodeGroup
from tensorplane.components.node_groups.shape import Shape

API = "cloud.google.com/v1"
# The profile removes idle nodes sooner, which here have GPUs.
_PROFILE = "OPTIMIZE_UTILIZATION"


def autoscaling(
    groups: Mapping[str, Shape], args: GkeSettings, account: pulumi.Input[str]
) -> container.ClusterClusterAutoscalingArgsDict:
    """The cluster's autoscaling, with resource limits if a group uses node auto-provisioning."""
    if not any(shape.args.provisioner == "automatic" for shape in groups.values()):
        return {"enabled": False, "autoscaling_profile": _PROFILE}
    scaling: container.ClusterClusterAutoscalingArgsDict = {
        "enabled": True,
        "autoscaling_profile": _PROFILE,
        "resource_limits": [
            {"resource_type": resource, "minimum": 0, "maximum": maximum}
            for resource, maximum in sorted(limits(groups).items())
        ],
        "auto_provisioning_defaults": {
            "service_account": account,
            "oauth_scopes": [CLOUD_PLATFORM],
            "image_type": CONTAINER_OS,
            "shielded_instance_config": {"enable_secure_boot": True, "enable_integrity_monitoring": True},
            "management": {"auto_repair": True, "auto_upgrade": True},
        },
    }
    if args.zones:
        scaling["auto_provisioning_locations"] = list(args.zones)
    return scaling


def limits(groups: Mapping[str, Shape]) -> dict[str, int]:
    """CPU cores, GiB and accelerators of the full groups; GKE counts the nodes of all groups."""
    found: dict[str, int] = defaultdict(int)
    for shape in groups.values():
        machine, nodes = shape.machine, shape.args.max
        if machine is None:
            continue
        found["cpu"] += machine.vcpus * nodes
        found["memory"] += math.ceil(machine.memory_gib * nodes)
        if machine.cloud_accelerator:
            found[machine.cloud_accelerator] += shape.per_node * nodes
    return dict(found)


def compute_class(
    group: NodeGroup, args: GkeSettings, account: pulumi.Input[str], provider: k8s.Provider
) -> pulumi.Resource:
    """The ComputeClass of a group: pods that select it get nodes with the group's settings."""
    shape = group.shape
    return k8s.apiextensions.CustomResource(
        shape.name,
        api_version=API,
        kind="ComputeClass",
        metadata={"name": shape.name},
        spec=class_spec(shape, args, account),
        opts=pulumi.ResourceOptions(parent=group, provider=provider),
    )


def class_spec(shape: Shape, args: GkeSettings, account: pulumi.Input[str]) -> dict[str, Any]:
    """The spec of the class: one kind of machine, without a fallback.

    GKE's defaults are not repeated: older versions of the class have no fields for repairs and upgrades (set in
    `autoscaling`) and for workload identity, which node pools inherit from the cluster.
    """
    pool: dict[str, Any] = {
        "imageType": CONTAINER_OS.lower(),
        "serviceAccount": account,
        "nodeLabels": dict(shape.labels),
    }
    if shape.declared_taints:
        pool["taints"] = [
            {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}
            for taint in shape.declared_taints
        ]
    if shape.machine and shape.machine.arch == "arm64":
        # As for node pools: no taints that no settings declare.
        pool["taintConfig"] = {"architectureTaintBehavior": "NONE"}
    return {
        "nodePoolAutoCreation": {"enabled": True},
        "nodePoolConfig": pool,
        "priorities": [_machine(shape, args)],
        "whenUnsatisfiable": "DoNotScaleUp",
    }


def _machine(shape: Shape, args: GkeSettings) -> dict[str, Any]:
    machine, accelerator = shape.machine, shape.accelerator
    rule: dict[str, Any] = {"spot": shape.args.spot, "maxPodsPerNode": args.max_pods_per_node}
    if machine:
        rule["machineType"] = machine.name
        rule["storage"] = {"bootDiskType": disk_type(machine.name), "bootDiskSize": shape.args.disk_gib}
        if accelerator and accelerator.kind == "gpu":
            rule["gpu"] = {
                "type": machine.cloud_accelerator,
                "count": shape.per_node,
                "driverVersion": args.gpu_driver,
            }
        elif accelerator:
            rule["tpu"] = {
                "type": machine.cloud_accelerator,
                "count": shape.per_node,
                "topology": machine.topology,
            }
    if zones := zones_of(shape, args):
        rule["location"] = {"zones": list(zones)}
    return rule
