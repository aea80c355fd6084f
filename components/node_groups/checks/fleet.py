"""Checks of all node groups together: indistinguishable groups, no group for system pods."""

from collections.abc import Iterator, Mapping

from tensorplane.components.base.labels import FLAVOR, NODE_GROUP
from tensorplane.components.base.problems import Problem
from tensorplane.components.node_groups.shape import Shape
from tensorplane.components.node_groups.taint import blocks_scheduling


def find_problems(groups: Mapping[str, Shape], *, is_new: bool, unresolved: bool) -> Iterator[Problem]:
    """Every problem, a line each.

    Args:
        groups: Those that could be resolved, by name.
        is_new: Whether the stack creates the cluster, whose system pods then require nodes of these groups.
        unresolved: Whether other groups failed validation.
    """
    yield from _twins(groups)
    yield from _flavors(groups)
    if is_new and groups and not unresolved:
        yield from _system_pods(groups)


def _twins(groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """Groups that the scheduler cannot distinguish, so that pods would run on either."""
    first: dict[object, str] = {}
    for name, shape in groups.items():
        other = first.setdefault(_identity(shape), name)
        if other != name:
            given = (("nodeGroups", name), ("nodeGroups", other))
            reason = f"the scheduler cannot distinguish it from {other}"
            remedy = "change its machine, zones, labels or taints, or merge the two groups"
            yield Problem(("nodeGroups", name), f"{reason}; {remedy}", given=given)


def _identity(shape: Shape) -> object:
    """What distinguishes a group for the scheduler, and its reservation, regardless of order."""
    labels = {key: value for key, value in shape.labels.items() if key not in (NODE_GROUP, FLAVOR)}
    machine = shape.machine.name if shape.machine else None
    args = shape.args
    by_labels = (machine, shape.per_node, args.topology, tuple(sorted(labels.items())))
    return (*by_labels, frozenset(shape.taints), frozenset(args.zones), args.reserved)


def _flavors(groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """Groups whose taint makes their name a flavor that another group already has."""
    first: dict[str, Shape] = {}
    for shape in groups.values():
        other = first.setdefault(shape.flavor, shape)
        if _flavor(other) != _flavor(shape):
            tainted, like = (shape, other) if shape.own_taint else (other, shape)
            given = (("nodeGroups", shape.name), ("nodeGroups", other.name))
            reason = f"its taint makes it flavor {shape.flavor}, which {like.name} is too; rename the group"
            yield Problem(("nodeGroups", tainted.name), reason, given=given)


def _flavor(shape: Shape) -> object:
    """What distinguishes the flavors of two groups."""
    accelerator = shape.accelerator
    return (accelerator, accelerator and shape.args.spot, shape.args.sharing, shape.name if shape.own_taint else None)


def _system_pods(groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """System pods, such as the cluster's DNS, tolerate no taints: a new cluster must have nodes for them."""
    if not any(not _keeps_pods_out(shape) and shape.args.min > 0 for shape in groups.values()):
        reason = "no group can run the cluster's system pods"
        remedy = "add one without accelerator, spot and taints, with min 1 or more"
        yield Problem(("nodeGroups",), f"{reason}; {remedy}", given=(("nodeGroups",),))


def _keeps_pods_out(shape: Shape) -> bool:
    return any(blocks_scheduling(taint) for taint in shape.taints)


def missing_groups(groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """A new cluster without node groups: its system pods, such as DNS, have no nodes.

    Groups that cannot run system pods are reported by the checks of the fleet.
    """
    if not groups:
        reason = "missing; declare a node group for the cluster's own pods, such as cpu: {machine: …, min: 2, max: 3}"
        yield Problem(("nodeGroups",), reason, given=(("nodeGroups",),))
