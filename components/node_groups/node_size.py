"""CPU and memory of a group's nodes, if known."""

from dataclasses import dataclass

from components import catalog
from components.base.labels import SIMULATED
from components.node_groups.shape import Shape

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
