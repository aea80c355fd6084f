"""Number of pods that fit one node of a group."""

from collections.abc import Iterable, Sequence

from components.base import quantities
from components.base.labels import SIMULATED
from components.base.model import Resources
from components.catalog import GPU_RESOURCE
from components.node_groups import node_size
from components.node_groups.shape import Shape


def holds(pods: Iterable[tuple[Resources, int]], shape: Shape) -> bool:
    """Whether one node of the group holds these pods, as far as known."""
    several = list(pods)
    gpus = sum(each.gpus * count for each, count in several)
    if gpus > shape.resources.get(shape.accelerator.resource if shape.accelerator else GPU_RESOURCE, 0):
        return False
    size = None if is_chosen_by_cloud(shape) else node_size.of(shape)
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
