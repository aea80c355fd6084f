"""What pods cost: their share of the nodes that they may run on, at the prices of the catalog. Pure."""

from collections.abc import Iterable

from components.base import price
from components.base.price import Usd
from components.node_groups.fleet import Fleet
from components.queues.room import PodSet


def of(pods: Iterable[PodSet], fleet: Fleet) -> Usd | None:
    """The cost of all pods together per hour; None if the price of a node group that they may run on is unknown."""
    total = Usd(0, 0)
    for each in pods:
        nodes = [shape.price for shape in fleet.taking(each.resources, interruptible=each.interruptible)]
        known = [node for node in nodes if node]
        if not nodes or len(known) < len(nodes):
            return None
        asked = each.resources
        total += price.of_pods(each.count, known, cpus=asked.cpus, memory_gib=asked.memory_gib, accelerators=asked.gpus)
    return total
