"""Prices: US dollars of a range of nodes, and the part of a node that a pod keeps others from using."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Usd:
    """Estimated US dollars, between the cheapest and the dearest nodes that pods may run on."""

    low: float
    high: float

    def __add__(self, other: "Usd") -> "Usd":
        return Usd(self.low + other.low, self.high + other.high)

    def __mul__(self, factor: float) -> "Usd":
        return Usd(self.low * factor, self.high * factor)


@dataclass(frozen=True)
class NodePrice:
    """Estimated US dollars per hour of one node, and what it has."""

    usd: float
    cpus: float
    memory_gib: float
    accelerators: int = 0
    """Accelerators that pods can request; a shared GPU counts once per pod."""

    def of_pod(self, cpus: float, memory_gib: float, accelerators: float) -> float:
        """The price of a pod with these requests: the largest of its shares of the node."""
        shares = [cpus / self.cpus, memory_gib / self.memory_gib]
        if self.accelerators:
            shares.append(accelerators / self.accelerators)
        return self.usd * min(max(shares), 1)

    def plain(self) -> dict[str, Any]:
        """Its fields, for JSON."""
        return asdict(self)


def of_pods(count: int, nodes: list[NodePrice], *, cpus: float, memory_gib: float, accelerators: float) -> Usd:
    """The price per hour of identical pods, each on one of these nodes."""
    prices = [node.of_pod(cpus, memory_gib, accelerators) for node in nodes]
    return Usd(min(prices), max(prices)) * count
