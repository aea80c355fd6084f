"""Labels and taints that follow from a node group's settings."""

from collections.abc import Iterator

from tensorplane.components.base.labels import (
    ACCELERATOR,
    ACCELERATOR_ARCHITECTURE,
    ACCELERATOR_YEAR,
    FLAVOR,
    GPU_PRESENT,
    NO_ACCELERATOR,
    NODE_GROUP,
    PLUGIN_CONFIG,
    PRODUCT,
    SPOT,
)
from tensorplane.components.catalog import Accelerator
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.settings import Mig, Mps, NodeGroupArgs, TimeSlicing
from tensorplane.components.node_groups.taint import Taint, blocks_scheduling

CPU = "cpu"
"""Flavor of nodes without accelerators."""


def derived_labels(name: str, args: NodeGroupArgs, accelerator: Accelerator | None) -> dict[str, str]:
    """The labels that every node of the group has because of its settings, besides those that the settings name."""
    labels = {
        NODE_GROUP: name,
        FLAVOR: _flavor(name, args, accelerator),
        ACCELERATOR: accelerator.name if accelerator else NO_ACCELERATOR,
    }
    if accelerator:
        labels |= {
            PRODUCT: accelerator.product,
            ACCELERATOR_ARCHITECTURE: accelerator.architecture,
            ACCELERATOR_YEAR: str(accelerator.year),
        }
    if accelerator and accelerator.kind == "gpu":
        labels[GPU_PRESENT] = "true"
        labels |= _sharing_labels(args)
    if args.spot:
        labels[SPOT] = "true"
    return labels


def _flavor(name: str, args: NodeGroupArgs, accelerator: Accelerator | None) -> str:
    """Name of the group's flavor. Groups that do not differ for queued pods share a flavor.

    A group with a taint of its own has a flavor of its own. Spot nodes without accelerators have no separate flavor.
    """
    name_parts = [accelerator.name if accelerator else CPU]
    if accelerator and args.spot:
        name_parts.append("spot")
    if args.sharing:
        name_parts.append(plugin_config(args))
    if any(blocks_scheduling(taint) for taint in args.taints):
        name_parts.append(name)
    return "-".join(name_parts)


def _sharing_labels(args: NodeGroupArgs) -> dict[str, str]:
    """Labels for the device plugin, the MPS daemon and the GPU Operator's MIG manager."""
    labels = {PLUGIN_CONFIG: plugin_config(args)} if args.sharing else {}
    if isinstance(args.sharing, Mps):
        labels["nvidia.com/mps.capable"] = "true"
    elif isinstance(args.sharing, Mig):
        labels["nvidia.com/mig.config"] = f"all-{_label_value(args.sharing.profile)}"
    return labels


def _label_value(mig_profile: str) -> str:
    """A profile as a label's value, in NVIDIA's spelling: 1g.10gb.me for 1g.10gb+me."""
    return mig_profile.replace("+", ".")


def plugin_config(args: NodeGroupArgs) -> str:
    """Name of the device plugin's configuration for a group's `sharing`."""
    match args.sharing:
        case TimeSlicing(replicas=replicas):
            return f"time-slicing-{replicas}"
        case Mps(replicas=replicas):
            return f"mps-{replicas}"
        case Mig(profile=profile):
            return f"mig-{_label_value(profile)}"
    return "whole"


def derived_taints(args: NodeGroupArgs, accelerator: Accelerator | None, cluster: ClusterProperties) -> Iterator[Taint]:
    """The taints that the nodes have because of their accelerator, spot and cluster, besides those of the settings."""
    if accelerator:
        yield Taint(
            accelerator.resource,
            "present",
            "NoSchedule",
            by_cloud=accelerator.resource in cluster.traits.automatic_taints,
        )
    if args.spot:
        yield Taint(SPOT, "true", "NoSchedule", spot=True)
        yield from cluster.traits.spot_taints
    yield from cluster.traits.taints
