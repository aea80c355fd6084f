"""What pods cost: their share of the nodes that they run on, at the prices of the catalog. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from components.node_groups.fleet import Fleet
from components.node_groups.shape import Shape
from components.queues.room import PodSet


@dataclass(frozen=True)
class HourlyUsd:
    """Estimated US dollars per hour, between the cheapest and the dearest nodes that the pods may run on."""

    low: float
    high: float

    def __add__(self, other: "HourlyUsd") -> "HourlyUsd":
        return HourlyUsd(self.low + other.low, self.high + other.high)


def of(pods: Iterable[PodSet], fleet: Fleet) -> HourlyUsd | None:
    """The cost of all pods together; None if the price of a node group that they may run on is unknown."""
    total = HourlyUsd(0, 0)
    for each in pods:
        prices = [per_pod(each, shape) for shape in fleet.taking(each.resources, interruptible=each.interruptible)]
        known = [price for price in prices if price is not None]
        if not prices or len(known) < len(prices):
            return None
        total += HourlyUsd(min(known) * each.count, max(known) * each.count)
    return total


def per_pod(pods: PodSet, shape: Shape) -> float | None:
    """The cost of one of these pods in a node group; None if its price is unknown.

    A pod costs the part of its node that it keeps others from using: the largest share of accelerators, CPUs or memory.
    """
    if shape.hourly_usd is None or shape.machine is None:
        return None
    shares = [pods.resources.cpus / shape.machine.vcpus, pods.resources.memory_gib / shape.machine.memory_gib]
    if shape.per_node:
        shares.append(pods.resources.gpus / shape.per_node)
    return shape.hourly_usd * min(max(shares), 1)
