"""Pods that request more CPU or memory than any node has, or more pods than full groups hold."""

from collections.abc import Iterator, Sequence

from tensorplane.components.base.model import Resources
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.node_groups import node_size
from tensorplane.components.node_groups.node_size import how_many, is_chosen_by_cloud, runs_on_real_node
from tensorplane.components.node_groups.shape import Shape


def find_problems(resources: Resources, at: Key, shapes: Sequence[Shape]) -> Iterator[Problem]:
    """Problems of requests that no node of the pod's groups can meet; none if a node's size is unknown.

    The node's own reservation is unknown, so a pod of exactly the machine's size is accepted.
    """
    sizes = {shape.name: size for shape in shapes if (size := node_size.of(shape))}
    if not shapes or len(sizes) < len(shapes) or any(is_chosen_by_cloud(shape) for shape in shapes):
        return
    if runs_on_real_node(resources, shapes):
        return
    if any(size.cpus >= resources.cpus and size.memory_gib >= resources.memory_gib for size in sizes.values()):
        return
    largest = max(sizes, key=lambda name: (sizes[name].cpus, sizes[name].memory_gib))
    size = sizes[largest]
    for key, requested, has, unit in (
        ("cpus", resources.cpus, size.cpus, "CPUs"),
        ("memoryGib", resources.memory_gib, size.memory_gib, "GiB"),
    ):
        if requested > has:
            reason = f"{requested:g} {unit} do not fit on any node: the largest, of {largest}, has {has:g}"
            yield Problem((*at, key), f"{reason}; request less, or use a larger machine", given=(("nodeGroups",), at))


def find_count_problems(
    resources: Resources, count: int, at: Key, path: Key, shapes: Sequence[Shape]
) -> Iterator[Problem]:
    """Problem of more simultaneous pods than the full groups hold.

    `at`: the path of the pods' resources. `path`: the path of their number.
    """
    if not shapes or runs_on_real_node(resources, shapes):
        return
    capacity = sum(shape.args.max * how_many(resources, shape, at_most=count) for shape in shapes)
    if 0 < capacity < count:
        groups = ", ".join(shape.name for shape in shapes)
        reason = f"{count} pods do not fit: full node groups {groups} hold {capacity} of them"
        yield Problem(path, f"{reason}; set {capacity} or less, or raise max there", given=(("nodeGroups",), at))
