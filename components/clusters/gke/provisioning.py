"""Node groups whose node pools GKE makes by itself: node auto-provisioning, steered by a ComputeClass for each."""

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
from pulumi_gcp import container

from components.clusters.gke.control_plane import CLOUD_PLATFORM
from components.clusters.gke.node_pools import CONTAINER_OS, disk_type
from components.clusters.gke.settings import GkeSettings
from components.clusters.gke.zones import zones_of
from components.node_groups.component import NodeGroup
from components.node_groups.shape import Shape

API = "cloud.google.com/v1"
# Nodes that nothing runs on are taken away sooner: here they have GPUs.
_PROFILE = "OPTIMIZE_UTILIZATION"


def autoscaling(
    groups: Mapping[str, Shape], args: GkeSettings, account: pulumi.Input[str]
) -> container.ClusterClusterAutoscalingArgsDict:
    """The cluster's autoscaling; with limits to what GKE may add where a group leaves its node pools to GKE."""
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
    """CPU cores, GiB and accelerators when every group is full: GKE counts the fixed groups' nodes as well."""
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
    """The class of a group: pods that select it get nodes such as the group's settings ask for."""
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
    """The class: one kind of machine, or none at all.

    What GKE does by itself is not said: older versions of the class have no fields for repairs and upgrades
    (`autoscaling` asks for both) and none for workload identity, which node pools have where the cluster has it.
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
        # As for node pools: no taint that no group's settings name.
        pool["taintConfig"] = {"architectureTaintBehavior": "NONE"}
    return {
        "nodePoolAutoCreation": {"enabled": True},
        "nodePoolConfig": pool,
        "priorities": [_machine(shape, args)],
        "whenUnsatisfiable": "DoNotScaleUp",
    }


def _machine(shape: Shape, args: GkeSettings) -> dict[str, Any]:
    machine, card = shape.machine, shape.accelerator
    rule: dict[str, Any] = {"spot": shape.args.spot, "maxPodsPerNode": args.max_pods_per_node}
    if machine:
        rule["machineType"] = machine.name
        rule["storage"] = {"bootDiskType": disk_type(machine.name), "bootDiskSize": shape.args.disk_gib}
        if card and card.kind == "gpu":
            rule["gpu"] = {
                "type": machine.cloud_accelerator,
                "count": shape.per_node,
                "driverVersion": args.gpu_driver,
            }
        elif card:
            rule["tpu"] = {
                "type": machine.cloud_accelerator,
                "count": shape.per_node,
                "topology": machine.topology,
            }
    if zones := zones_of(shape, args):
        rule["location"] = {"zones": list(zones)}
    return rule
