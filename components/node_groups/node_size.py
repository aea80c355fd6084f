"""CPU and memory of a group's nodes, if known, and how many pods fit on one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tensorplane.components import catalog
from tensorplane.components.base import quantities
from tensorplane.components.base.labels import SIMULATED
from tensorplane.components.base.model import Resources
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.components.node_groups.shape import Shape

_CPUS, _MEMORY_GIB = 16, 64


@dataclass(frozen=True)
class NodeSize:
    """CPU cores, memory and architecture of one node."""

    cpus: float
    memory_gib: float
    arch: str


def of(shape: Shape) -> NodeSize | None:
    """The size of each of a group's nodes; None on an existing cluster without a catalog of machines."""
    if shape.machine:
        return NodeSize(shape.machine.vcpus, shape.machine.memory_gib, shape.machine.arch)
    return like_a_machine(shape) if any(taint.key == SIMULATED for taint in shape.taints) else None


def like_a_machine(shape: Shape) -> NodeSize:
    """The size of a simulated node: that of the smallest machine of any cloud with these accelerators."""
    accelerator = shape.accelerator
    if accelerator is None:
        return NodeSize(_CPUS, _MEMORY_GIB, "amd64")
    rented = [
        machine for cloud in catalog.clouds() for machine in catalog.offers(cloud, accelerator.name, shape.per_node)
    ]
    if not rented:
        return NodeSize(_CPUS * shape.per_node, max(_MEMORY_GIB, accelerator.memory_gib) * shape.per_node, "amd64")
    smallest = min(rented, key=lambda machine: (machine.vcpus, machine.memory_gib))
    return NodeSize(smallest.vcpus, smallest.memory_gib, smallest.arch)


def holds(pods: Iterable[tuple[Resources, int]], shape: Shape) -> bool:
    """Whether one node of the group holds these pods, as far as known."""
    several = list(pods)
    gpus = sum(each.gpus * count for each, count in several)
    if gpus > shape.resources.get(shape.accelerator.resource if shape.accelerator else GPU_RESOURCE, 0):
        return False
    size = None if is_chosen_by_cloud(shape) else of(shape)
    cpus = sum(quantities.millicores(each.cpus) * count for each, count in several)
    memory = sum(quantities.mebibytes(each.memory_gib) * count for each, count in several)
    return size is None or (cpus <= size.cpus * 1000 and memory <= size.memory_gib * 1024)


def how_many(each: Resources, shape: Shape, *, at_most: int) -> int:
    """Number of such pods that fit one node, up to a limit."""
    return next((count for count in range(at_most, 0, -1) if holds([(each, count)], shape)), 0)


def is_chosen_by_cloud(shape: Shape) -> bool:
    """Whether the cloud may provision a larger machine."""
    return shape.args.provisioner == "automatic" or (shape.args.spot and bool(shape.alternatives))


def runs_on_real_node(resources: Resources, shapes: Sequence[Shape]) -> bool:
    """Whether the pods run on the embedded cluster's own node: those without GPUs and node group."""
    simulated = any(taint.key == SIMULATED for shape in shapes for taint in shape.taints)
    return simulated and not resources.gpus and not resources.node_group
