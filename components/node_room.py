"""Pods whose processors or memory no node has: the scheduler would never find a place for them."""

from collections.abc import Iterator, Sequence

from components import node_size
from components.faults import Fault, Key
from components.model import Resources
from components.node_group import SIMULATED, Shape


def faults(resources: Resources, at: Key, shapes: Sequence[Shape]) -> Iterator[Fault]:
    """What a pod asks for beyond the nodes of all groups that would take it; nothing where a node's size is not known.

    A node keeps some of what its machine has for itself, and so a pod of just its size is let through here.
    """
    sizes = {shape.name: size for shape in shapes if (size := node_size.of(shape))}
    if not shapes or len(sizes) < len(shapes) or any(_chosen_by_the_cloud(shape) for shape in shapes):
        return
    if _others_take_it(resources, shapes):
        return
    if any(size.cpus >= resources.cpus and size.memory_gib >= resources.memory_gib for size in sizes.values()):
        return
    largest = max(sizes, key=lambda name: (sizes[name].cpus, sizes[name].memory_gib))
    size = sizes[largest]
    for key, asked, has, unit in (
        ("cpus", resources.cpus, size.cpus, "CPUs"),
        ("memoryGib", resources.memory_gib, size.memory_gib, "GiB"),
    ):
        if asked > has:
            reason = f"got {asked:g}, and the largest node that would take the pod, of {largest}, has {has:g} {unit}"
            yield Fault((*at, key), f"{reason}: need less, or a larger machine", given=(("nodeGroups",), at))


def _chosen_by_the_cloud(shape: Shape) -> bool:
    """Whether the cloud may take a larger machine than the first that fits."""
    return shape.args.provisioner == "automatic" or (shape.args.spot and bool(shape.alternatives))


def _others_take_it(resources: Resources, shapes: Sequence[Shape]) -> bool:
    """Pods without GPUs that name no group run on the embedded cluster's own node, not on simulated ones."""
    simulated = any(taint.key == SIMULATED for shape in shapes for taint in shape.taints)
    return simulated and not resources.gpus and not resources.node_group
