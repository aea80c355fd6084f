"""What every new cluster needs of its node groups."""

from collections.abc import Iterator, Mapping

from components.base.faults import Fault
from components.node_groups.shape import Shape


def missing_groups(groups: Mapping[str, Shape]) -> Iterator[Fault]:
    """A new cluster has the nodes of its groups and no others, and its own pods, such as its DNS, need some.

    Where there are groups and none of them will do, the fleet says so.
    """
    if not groups:
        reason = "missing; declare a node group for the cluster's own pods, such as cpu: {machine: …, min: 2, max: 3}"
        yield Fault(("nodeGroups",), reason, given=(("nodeGroups",),))
