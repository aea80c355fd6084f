"""Checks of node groups that are specific to AKS."""

import re
from collections.abc import Iterator, Mapping

from tensorplane.components import catalog
from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.catalog import Accelerator, Machine
from tensorplane.components.clusters.aks.check_cluster import ZONES
from tensorplane.components.clusters.aks.pool_properties import (
    agent_pool_name,
    fit_for_system,
    mig_slices,
    system_group,
)
from tensorplane.components.clusters.aks.settings import AksSettings
from tensorplane.components.clusters.aks.zones import zones_of
from tensorplane.components.node_groups.settings import Mig
from tensorplane.components.node_groups.shape import Shape

_POOL_NODES, _CLUSTER_NODES = 1000, 5000
_LARGEST_DISK = 2048
"""GiB of a node's system disk (osDiskSizeGB of an agent pool in Azure's API)."""
# learn.microsoft.com/azure/aks/use-system-pools
_SYSTEM_VCPUS, _SYSTEM_MEMORY_GIB = 4, 4
_MIG = ("a100-40gb", "a100-80gb", "h100-80gb", "h100-nvl", "h200")
"""GPUs with MIG on AKS: A100, H100 and H200 (learn.microsoft.com/azure/aks/gpu-multi-instance, May 2026)."""
_BURSTABLE = "Standard_B"
_RESERVATION = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/capacityReservationGroups/[^/]+", re.I
)


def find_problems(args: AksSettings, groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """Every problem, a line each."""
    yield from _names(groups)
    yield from _sizes(groups)
    for name, shape in groups.items():
        path = ("nodeGroups", name)
        yield from _zones(path, args, shape)
        yield from _sharing(path, shape)
        yield from _reserved(path, shape)
    yield from _system(args, groups)


def _names(groups: Mapping[str, Shape]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for name in groups:
        pool_name = agent_pool_name(name)
        other = first.setdefault(pool_name, name)
        if other != name:
            reason = f"has the same agent pool name as {other}, {pool_name}; use a name that differs without dashes"
            yield Problem(("nodeGroups", name), reason, given=(("nodeGroups", other),))


def _sizes(groups: Mapping[str, Shape]) -> Iterator[Problem]:
    for name, shape in groups.items():
        if shape.args.max > _POOL_NODES:
            reason = f"{shape.args.max} exceeds the {_POOL_NODES} nodes of an AKS node pool; use several groups"
            yield Problem(("nodeGroups", name, "max"), reason)
        if shape.args.disk_gib > _LARGEST_DISK:
            reason = f"{shape.args.disk_gib} GiB exceeds the largest node disk of AKS; set {_LARGEST_DISK} or less"
            yield Problem(("nodeGroups", name, "diskGib"), reason)
    nodes = sum(shape.args.max for shape in groups.values())
    if nodes > _CLUSTER_NODES:
        yield Problem(
            ("nodeGroups",),
            f"the groups have up to {nodes} nodes, but an AKS cluster has at most {_CLUSTER_NODES}; lower max",
        )


def _zones(path: tuple[str, ...], args: AksSettings, shape: Shape) -> Iterator[Problem]:
    if not catalog.zones("aks", args.region):
        # If the catalog has the location's zones, another check covers their names.
        for zone in shape.args.zones:
            if zone not in ZONES:
                near = did_you_mean(zone.removeprefix(f"{args.region}-"), ZONES)
                yield Problem(
                    (*path, "zones"),
                    f"unknown zone {zone!r}; choose one of {', '.join(ZONES)}, as AKS numbers its zones{near}",
                )
    selling = catalog.sold("aks", shape.machine.name, args.region) if shape.machine else None
    if selling and not shape.args.zones:
        missing = [zone for zone in zones_of(shape, args) if zone in ZONES and zone not in selling]
        if missing:
            reason = f"{shape.machine.name if shape.machine else ''} is not available in zone {', '.join(missing)}"
            whose = "of cluster.zones" if args.zones else "of this location"
            yield Problem((*path, "zones"), f"{reason} {whose}; set zones to {', '.join(selling)}")


def _sharing(path: tuple[str, ...], shape: Shape) -> Iterator[Problem]:
    sharing, accelerator = shape.args.sharing, shape.accelerator
    if not isinstance(sharing, Mig) or accelerator is None or sharing.profile not in accelerator.mig:
        return
    if accelerator.name not in _MIG:
        required = f"use {', '.join(_MIG)}, or sharing kind timeSlicing"
        yield Problem((*path, "sharing"), f"AKS does not support MIG on {accelerator.name}; {required}")
        return
    able = _profiles(accelerator)
    if sharing.profile not in able:
        choices = ", ".join(able)
        reason = f"AKS does not offer MIG profile {sharing.profile} on {accelerator.name}; choose one of {choices}"
        yield Problem((*path, "sharing", "profile"), reason + did_you_mean(sharing.profile, able))


def _profiles(accelerator: Accelerator) -> tuple[str, ...]:
    """The profiles that AKS supports: its API takes the number of slices, and uses the smallest memory."""
    smallest: dict[str, str] = {}
    for profile in sorted(accelerator.mig, key=_memory):
        if "+" not in profile:
            smallest.setdefault(mig_slices(profile), profile)
    return tuple(smallest[slices] for slices in sorted(smallest))


def _memory(profile: str) -> int:
    found = re.search(r"\.(\d+)gb", profile)
    return int(found[1]) if found else 0


def _reserved(path: tuple[str, ...], shape: Shape) -> Iterator[Problem]:
    reserved = shape.args.reserved
    if reserved and not _RESERVATION.fullmatch(reserved.id):
        required = "/subscriptions/…/resourceGroups/…/providers/Microsoft.Compute/capacityReservationGroups/…"
        yield Problem(
            (*path, "reserved", "id"), f"{reserved.id!r} is not the id of a capacity reservation group; use {required}"
        )


def _system(args: AksSettings, groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """Problems of the system node pool."""
    fitting, path, given = fit_for_system(groups), ("cluster", "systemGroup"), (("nodeGroups",),)
    if not fitting:
        return
    choices = ", ".join(sorted(fitting))
    if args.system_group is None and len(fitting) > 1:
        reason = (
            f"missing, and several groups can be the system node pool; choose one of {choices} (it cannot change later)"
        )
        yield Problem(path, reason, given=given)
    elif args.system_group and args.system_group not in fitting:
        why = (
            "cannot be the system node pool (accelerator, taints or min 0)"
            if args.system_group in groups
            else "is not a node group"
        )
        reason = f"{args.system_group} {why}; choose one of {choices}{did_you_mean(args.system_group, fitting)}"
        yield Problem(path, reason, given=given)
    elif shape := system_group(groups, args.system_group):
        yield from _system_machine(shape)


def _system_machine(shape: Shape) -> Iterator[Problem]:
    machine, path = shape.machine, ("nodeGroups", shape.name, "machine")
    if machine is None:
        return
    if machine.vcpus < _SYSTEM_VCPUS or machine.memory_gib < _SYSTEM_MEMORY_GIB:
        required = f"one with at least {_SYSTEM_VCPUS} vCPUs and {_SYSTEM_MEMORY_GIB} GiB"
        reason = f"{machine.name} is too small for the system node pool; use {required}"
        yield Problem(path, reason + _larger(machine))
    elif machine.name.startswith(_BURSTABLE):
        reason = f"AKS does not allow burstable machines such as {machine.name} in the system node pool"
        yield Problem(path, f"{reason}; use another family, such as Standard_D4s_v5")


def _larger(machine: Machine) -> str:
    """The smallest sufficient machine of the family: Standard_D4s_v5 instead of Standard_D2s_v5."""
    family = re.sub(r"\d+", "#", machine.name, count=1)
    able = [
        other
        for name in catalog.machine_names("aks")
        if re.sub(r"\d+", "#", name, count=1) == family
        and (other := catalog.machine("aks", name))
        and other.vcpus >= _SYSTEM_VCPUS
        and other.memory_gib >= _SYSTEM_MEMORY_GIB
    ]
    return f" (nearest: {min(able, key=lambda other: other.vcpus).name})" if able else ""
