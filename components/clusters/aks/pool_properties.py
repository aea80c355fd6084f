"""An agent pool's properties, the same within the cluster's own request and in a request of the pool's own."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from components.node_groups.settings import Mig
from components.node_groups.shape import Shape

Mode = Literal["System", "User"]


def fit_for_system(groups: Mapping[str, Shape]) -> dict[str, Shape]:
    """The groups that the cluster's own pods could run on: without accelerator and taints, and never without nodes."""
    return {
        name: shape
        for name, shape in groups.items()
        if not shape.accelerator and not shape.taints and shape.args.min > 0
    }


def system_group(groups: Mapping[str, Shape], named: str | None) -> Shape | None:
    """The group of the cluster's own pods: the one that the settings name, or the only one that can be."""
    fitting = fit_for_system(groups)
    return fitting.get(named) if named else next(iter(fitting.values()), None)


def mig_slices(profile: str) -> str:
    """How many of a card's seven compute slices a MIG profile has: 2 of 2g.20gb. All that AKS lets one say of it."""
    return profile.split("g", 1)[0]


def properties(
    shape: Shape, mode: Mode, *, version: str, zones: Sequence[str], tags: Mapping[str, str]
) -> dict[str, Any]:
    """The pool that a node group comes to, without its name and its subnet."""
    args, machine = shape.args, shape.machine
    found: dict[str, Any] = {
        "mode": mode,
        "type": "VirtualMachineScaleSets",
        "os_type": "Linux",
        "orchestrator_version": version,
        "count": args.min,
        "enable_auto_scaling": True,
        "min_count": args.min,
        "max_count": args.max,
        "os_disk_size_gb": args.disk_gib,
        "enable_node_public_ip": False,
        "node_labels": dict(shape.labels),
        "node_taints": [str(taint) for taint in shape.declared_taints],
        "availability_zones": list(zones),
        "tags": dict(tags),
    }
    if machine:
        found |= {"vm_size": machine.name, "os_sku": machine.image}
    return {**found, **_upgrades(shape), **_gpu(shape), **_capacity(shape)}


def _upgrades(shape: Shape) -> dict[str, Any]:
    if shape.args.spot:
        return {}  # AKS takes no settings here
    if shape.accelerator:
        # More machines of a scarce card are not to be had for an upgrade: one node at a time is taken away instead.
        return {"upgrade_settings": {"max_surge": "0", "max_unavailable": "1"}}
    return {"upgrade_settings": {"max_surge": "33%"}}


def _gpu(shape: Shape) -> dict[str, Any]:
    if not shape.accelerator:
        return {}
    if not shape.driver_in_image:
        # The GPU Operator's MIG manager divides what its own driver runs.
        return {"gpu_profile": {"driver": "None"}}
    sharing = shape.args.sharing
    whole = {"gpu_profile": {"driver": "Install"}}
    return (
        {**whole, "gpu_instance_profile": f"MIG{mig_slices(sharing.profile)}g"} if isinstance(sharing, Mig) else whole
    )


def _capacity(shape: Shape) -> dict[str, Any]:
    if shape.args.spot:
        # -1: up to the price on demand, so that machines are taken back for lack of capacity alone.
        return {"scale_set_priority": "Spot", "scale_set_eviction_policy": "Delete", "spot_max_price": -1}
    if shape.args.reserved:
        return {"capacity_reservation_group_id": shape.args.reserved.id}
    return {}
