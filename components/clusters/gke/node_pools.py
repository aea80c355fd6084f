"""A node group as a GKE node pool of fixed machines."""

from collections.abc import Sequence

import pulumi
from pulumi_gcp import compute, container

from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.gke import slices
from tensorplane.components.clusters.gke.control_plane import CLOUD_PLATFORM
from tensorplane.components.clusters.gke.settings import GkeSettings
from tensorplane.components.clusters.gke.zones import begin, has_gpudirect
from tensorplane.components.node_groups.component import NodeGroup
from tensorplane.components.node_groups.settings import Effect, Mig, Mps, TimeSlicing
from tensorplane.components.node_groups.shape import Shape

EFFECTS: dict[Effect, str] = {
    "NoSchedule": "NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
}
CONTAINER_OS = "COS_CONTAINERD"
RDMA_DRIVER = "cloud.google.com/gke-networking-dra-driver"
"""Label of nodes on which GKE's driver publishes RDMA interfaces as devices for resource claims (mrdma.google.com)."""

_SERIES_WITHOUT_PERSISTENT_DISK = frozenset(
    {"a4", "a4x", "c4", "c4a", "c4d", "ct6e", "g4", "h4d", "n4", "n4a", "n4d", "tpu7x", "x4"}
)
"""Machine series that boot from Hyperdisk only (Compute Engine's table of machine series and disk types)."""

_NOT_OURS = [
    # In an autoscaled pool, this is the initial number of nodes, and a change would replace all of them.
    "initialNodeCount",
    # Machine types with local SSDs always have them, and the API returns them.
    "nodeConfig.ephemeralStorageLocalSsdConfig",
    "nodeConfig.localNvmeSsdBlockConfig",
]


def create(
    group: NodeGroup,
    args: GkeSettings,
    *,
    cluster: container.Cluster,
    account: pulumi.Input[str],
    after: Sequence[pulumi.Resource],
) -> container.NodePool:
    """The group's node pool, after the pools in `after`."""
    shape = group.shape
    zones, nodes_each = begin(shape, args)
    # All pools are autoscaled, except a permanent slice.
    fixed = slices.machines(shape) > 1 and shape.args.min == shape.args.max
    child = pulumi.ResourceOptions(parent=group)
    # Auto-named, so that a replacement is created before the old pool is deleted.
    return container.NodePool(
        shape.name,
        project=as_input(args.project),
        cluster=cluster.name,
        location=args.region,
        node_locations=list(zones) or None,
        node_count=shape.args.max if fixed else None,
        initial_node_count=None if fixed else nodes_each,
        autoscaling=None if fixed else autoscaling(shape),
        management={"auto_repair": True, "auto_upgrade": True},
        upgrade_settings=upgrade(shape),
        network_config=network(shape, args),
        placement_policy=_placement(shape, args, pulumi.ResourceOptions(parent=group, depends_on=[cluster])),
        node_config=node_config(shape, args, account),
        opts=pulumi.ResourceOptions.merge(
            child,
            pulumi.ResourceOptions(
                depends_on=[*after],
                # A group that names no zones keeps those that it began with, whatever catalog and cluster say later: a
                # zone that goes takes its nodes along.
                ignore_changes=_NOT_OURS if shape.args.zones else [*_NOT_OURS, "nodeLocations"],
            ),
        ),
    )


def autoscaling(shape: Shape) -> container.NodePoolAutoscalingArgsDict:
    """Number of nodes over all zones. Scarce ones come from any zone that has them."""
    return {
        "total_min_node_count": shape.args.min,
        "total_max_node_count": shape.args.max,
        "location_policy": "ANY" if shape.accelerator or shape.args.spot else "BALANCED",
    }


def upgrade(shape: Shape) -> container.NodePoolUpgradeSettingsArgsDict:
    """The upgrade strategy: surge nodes first, except for scarce machines."""
    surge = not (shape.accelerator or shape.args.reserved)
    return {"strategy": "SURGE", "max_surge": int(surge), "max_unavailable": int(not surge)}


def network(shape: Shape, args: GkeSettings) -> container.NodePoolNetworkConfigArgsDict:
    """Private addresses and, for GPUs that support it, a network of their own in the pool's zone."""
    if has_gpudirect(shape, args):
        return {"enable_private_nodes": True, "accelerator_network_profile": "auto"}
    return {"enable_private_nodes": True}


def labels(shape: Shape, args: GkeSettings) -> dict[str, str]:
    """The group's labels and, with RDMA, the one with which GKE's driver publishes the interfaces.

    From 1.34.1-gke.1829001 on (docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra).
    TCPXO has no such driver.
    """
    rdma = shape.machine is not None and shape.machine.gpudirect == "RDMA"
    return {**shape.labels, **({RDMA_DRIVER: "true"} if rdma and has_gpudirect(shape, args) else {})}


def node_config(shape: Shape, args: GkeSettings, account: pulumi.Input[str]) -> container.NodePoolNodeConfigArgsDict:
    """The configuration of the nodes."""
    machine = shape.machine
    assert machine is not None  # noqa: S101  # for mypy: the catalog lists every machine of GKE
    image = machine.image or CONTAINER_OS
    config: container.NodePoolNodeConfigArgsDict = {
        "machine_type": machine.name,
        "image_type": image,
        "disk_type": disk_type(machine.name),
        "disk_size_gb": shape.args.disk_gib,
        "service_account": account,
        "oauth_scopes": [CLOUD_PLATFORM],
        "labels": labels(shape, args),
        "resource_labels": {
            **{key: as_input(value) for key, value in args.labels.items()},
            "tensorplane-node-group": shape.name,
        },
        "metadata": {"disable-legacy-endpoints": "true"},
        "workload_metadata_config": {"mode": "GKE_METADATA"},
        # On Container-Optimized OS also with GPUs, because Google signs the driver that GKE installs. On Ubuntu it
        # is built on the node, and the kernel would refuse it.
        "shielded_instance_config": {
            "enable_secure_boot": image.startswith("COS"),
            "enable_integrity_monitoring": True,
        },
        "gvnic": {"enabled": True},
        "spot": shape.args.spot,
    }
    if shape.declared_taints:
        config["taints"] = [
            {"key": taint.key, "value": taint.value, "effect": EFFECTS[taint.effect]} for taint in shape.declared_taints
        ]
    if gpus := guest_accelerators(shape, args.gpu_driver):
        config["guest_accelerators"] = gpus
    elif args.lustre and image.startswith("COS"):
        # By default, nodes without GPUs only load the kernel's own modules.
        config["linux_node_config"] = {"node_kernel_module_loading": {"policy": "ENFORCE_SIGNED_MODULES"}}
    if shape.args.reserved:
        config["reservation_affinity"] = {
            "consume_reservation_type": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": [shape.args.reserved.id],
        }
    if machine.arch == "arm64":
        # Unlike other clouds, GKE would taint the nodes, which no settings declare.
        config["taint_config"] = {"architecture_taint_behavior": "NONE"}
    return config


def disk_type(machine: str) -> str:
    """Type of the boot disk that a machine can have."""
    without = machine.split("-")[0] in _SERIES_WITHOUT_PERSISTENT_DISK or machine.startswith("a3-ultragpu")
    return "hyperdisk-balanced" if without else "pd-balanced"


def _placement(
    shape: Shape, args: GkeSettings, opts: pulumi.ResourceOptions
) -> container.NodePoolPlacementPolicyArgsDict | None:
    """Placement of a TPU slice's machines, next to each other; for TPU7x by a shared policy."""
    topology = shape.args.topology
    if topology is None or slices.machines(shape) == 1:
        return None
    if shape.machine is None or not shape.machine.name.startswith("tpu7x"):
        return {"type": "COMPACT", "tpu_topology": topology}
    policy = compute.ResourcePolicy(
        f"{shape.name}-slice",
        region=args.region,
        workload_policy={"type": "HIGH_THROUGHPUT", "accelerator_topology": topology},
        opts=opts,
    )
    return {"type": "COMPACT", "policy_name": policy.name}


def guest_accelerators(shape: Shape, driver: str) -> list[container.NodePoolNodeConfigGuestAcceleratorArgsDict]:
    """The GPUs of each node; empty without GPUs, and for TPUs, which are part of the machine type.

    Machine types with GPUs (a2, a3, g2 …) declare them, too, to select the driver: without it, GKE installs none.
    """
    machine = shape.machine
    if not (machine and machine.cloud_accelerator and shape.accelerator and shape.accelerator.kind == "gpu"):
        return []
    declared: container.NodePoolNodeConfigGuestAcceleratorArgsDict = {
        "type": machine.cloud_accelerator,
        "count": shape.per_node,
        "gpu_driver_installation_config": {"gpu_driver_version": driver.upper()},
    }
    match shape.args.sharing:
        case TimeSlicing(replicas=replicas):
            declared["gpu_sharing_config"] = _between("TIME_SHARING", replicas)
        case Mps(replicas=replicas):
            declared["gpu_sharing_config"] = _between("MPS", replicas)
        case Mig(profile=profile):
            declared["gpu_partition_size"] = profile
    return [declared]


def _between(strategy: str, replicas: int) -> container.NodePoolNodeConfigGuestAcceleratorGpuSharingConfigArgsDict:
    return {"gpu_sharing_strategy": strategy, "max_shared_clients_per_gpu": replicas}
