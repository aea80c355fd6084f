"""Pods whose processors or memory no node has: the scheduler would never find a place for them."""

from collections.abc import Iterable, Iterator, Sequence

from components import node_size, quantity
from components.catalog import GPU_RESOURCE
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
    if others_take_it(resources, shapes):
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


def holds(pods: Iterable[tuple[Resources, int]], shape: Shape) -> bool:
    """Whether one node of the group takes so many pods of each kind at once, as far as anybody knows."""
    asked = list(pods)
    gpus = sum(each.gpus * count for each, count in asked)
    if gpus > shape.resources.get(GPU_RESOURCE, 0):
        return False
    size = None if _chosen_by_the_cloud(shape) else node_size.of(shape)
    cpus = sum(quantity.millicores(each.cpus) * count for each, count in asked)
    memory = sum(quantity.mebibytes(each.memory_gib) * count for each, count in asked)
    return size is None or (cpus <= size.cpus * 1000 and memory <= size.memory_gib * 1024)


def how_many(each: Resources, shape: Shape, *, at_most: int) -> int:
    """How many such pods one node of the group takes at once, up to a number."""
    return next((count for count in range(at_most, 0, -1) if holds([(each, count)], shape)), 0)


def count_faults(resources: Resources, count: int, at: Key, where: Key, shapes: Sequence[Shape]) -> Iterator[Fault]:
    """Pods that all run at the same time, more than the full groups that take them have room for.

    `at` is where the pods' resources are, `where` the setting that says how many pods there are.
    """
    if not shapes or others_take_it(resources, shapes):
        return
    room = sum(shape.args.max * how_many(resources, shape, at_most=count) for shape in shapes)
    if 0 < room < count:
        groups = ", ".join(shape.name for shape in shapes)
        reason = f"got {count}, and full node groups {groups} have room for {room} such pods"
        yield Fault(where, f"{reason}; set at most {room}, or a higher max there", given=(("nodeGroups",), at))


def _chosen_by_the_cloud(shape: Shape) -> bool:
    """Whether the cloud may take a larger machine than the first that fits."""
    return shape.args.provisioner == "automatic" or (shape.args.spot and bool(shape.alternatives))


def others_take_it(resources: Resources, shapes: Sequence[Shape]) -> bool:
    """Pods without GPUs that name no group run on the embedded cluster's own node, not on simulated ones."""
    simulated = any(taint.key == SIMULATED for shape in shapes for taint in shape.taints)
    return simulated and not resources.gpus and not resources.node_group
