"""Check of the node groups of every new cluster."""

from collections.abc import Iterator, Mapping

from components.base.problems import Problem
from components.node_groups.shape import Shape


def missing_groups(groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """A new cluster without node groups: its system pods, such as DNS, have no nodes.

    Groups that cannot run system pods are reported by the checks of the fleet.
    """
    if not groups:
        reason = "missing; declare a node group for the cluster's own pods, such as cpu: {machine: …, min: 2, max: 3}"
        yield Problem(("nodeGroups",), reason, given=(("nodeGroups",),))
