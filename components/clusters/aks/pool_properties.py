"""Properties of an agent pool, both as part of the cluster and as a resource of its own."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tensorplane.components.base.names import digest
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.node_groups.settings import Mig
from tensorplane.components.node_groups.shape import Shape

NAME_LIMIT = 12
"""AKS allows at most as many lower-case letters and digits."""
_HASHED = 4


def agent_pool_name(group: str) -> str:
    """The group's name without dashes, shortened with a hash if it is too long."""
    plain = group.replace("-", "")
    if len(plain) <= NAME_LIMIT:
        return plain
    return plain[: NAME_LIMIT - _HASHED] + digest(group, _HASHED)


Mode = Literal["System", "User"]


def fit_for_system(groups: Mapping[str, Shape]) -> dict[str, Shape]:
    """Groups that can be the system node pool: without accelerator and taints, with min 1 or more."""
    return {
        name: shape
        for name, shape in groups.items()
        if not shape.accelerator and not shape.taints and shape.args.min > 0
    }


def system_group(groups: Mapping[str, Shape], name: str | None) -> Shape | None:
    """The system node pool's group: the one in the settings, or the only candidate."""
    fitting = fit_for_system(groups)
    return fitting.get(name) if name else next(iter(fitting.values()), None)


def mig_slices(profile: str) -> str:
    """Compute slices of a MIG profile, such as 2 for 2g.20gb, which is how AKS selects a profile."""
    return profile.split("g", 1)[0]


def properties(
    shape: Shape, mode: Mode, *, version: str, zones: Sequence[str], tags: Mapping[str, pulumi.Input[str]]
) -> dict[str, Any]:
    """The pool of a node group, without name and subnet."""
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
        return {}  # AKS has no settings for it
    if shape.accelerator:
        # Scarce machines have no spare capacity for an upgrade, so one node at a time is removed first.
        return {"upgrade_settings": {"max_surge": "0", "max_unavailable": "1"}}
    return {"upgrade_settings": {"max_surge": "33%"}}


def _gpu(shape: Shape) -> dict[str, Any]:
    if not shape.accelerator:
        return {}
    if not shape.driver_in_image:
        # The GPU Operator's MIG manager configures the GPUs of its own driver.
        return {"gpu_profile": {"driver": "None"}}
    sharing = shape.args.sharing
    base = {"gpu_profile": {"driver": "Install"}}
    return {**base, "gpu_instance_profile": f"MIG{mig_slices(sharing.profile)}g"} if isinstance(sharing, Mig) else base


def _capacity(shape: Shape) -> dict[str, Any]:
    if shape.args.spot:
        # -1: up to the on-demand price, so that machines are only evicted for lack of capacity.
        return {"scale_set_priority": "Spot", "scale_set_eviction_policy": "Delete", "spot_max_price": -1}
    if shape.args.reserved:
        return {"capacity_reservation_group_id": shape.args.reserved.id}
    return {}
