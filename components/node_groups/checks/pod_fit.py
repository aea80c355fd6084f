"""Pods whose CPU or memory no node has, or of which the full groups hold too few: they would stay pending."""

from collections.abc import Iterator, Sequence

from components.base.faults import Fault, Key
from components.base.model import Resources
from components.node_groups import node_size
from components.node_groups.node_capacity import how_many, is_chosen_by_cloud, runs_on_real_node
from components.node_groups.shape import Shape


def faults(resources: Resources, at: Key, shapes: Sequence[Shape]) -> Iterator[Fault]:
    """What a pod asks for beyond the nodes of all groups that would take it; nothing where a node's size is not known.

    A node keeps some of what its machine has for itself, and so a pod of just its size is let through here.
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
    for key, asked, has, unit in (
        ("cpus", resources.cpus, size.cpus, "CPUs"),
        ("memoryGib", resources.memory_gib, size.memory_gib, "GiB"),
    ):
        if asked > has:
            reason = f"{asked:g} {unit} do not fit on any node: the largest, of {largest}, has {has:g}"
            yield Fault((*at, key), f"{reason}; request less, or use a larger machine", given=(("nodeGroups",), at))


def count_faults(resources: Resources, count: int, at: Key, where: Key, shapes: Sequence[Shape]) -> Iterator[Fault]:
    """Pods that all run at the same time, more than the full groups that take them have room for.

    `at` is where the pods' resources are, `where` the setting that says how many pods there are.
    """
    if not shapes or runs_on_real_node(resources, shapes):
        return
    room = sum(shape.args.max * how_many(resources, shape, at_most=count) for shape in shapes)
    if 0 < room < count:
        groups = ", ".join(shape.name for shape in shapes)
        reason = f"{count} pods do not fit: full node groups {groups} hold {room} of them"
        yield Fault(where, f"{reason}; set {room} or less, or raise max there", given=(("nodeGroups",), at))
