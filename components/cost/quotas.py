"""What a queue's quotas cost per hour while jobs use all of them: its own, and what it may borrow."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from components.base.price import NodePrice, Usd
from components.cost.estimate import BORROWED, OWNED, Estimate


@dataclass(frozen=True)
class Part:
    """What a queue has of one flavor."""

    flavor: str
    nodes: Sequence[NodePrice]
    """The flavor's nodes; empty if the price of one is unknown."""
    owned: tuple[float, float, float]
    """Cores, GiB of memory and GPUs of its nominal quota."""
    borrowed: tuple[float, float, float]
    """Of its borrowing limit."""


def of(queue: str, parts: Iterable[Part]) -> Estimate:
    """The estimate of one queue."""
    several = list(parts)
    figures = {
        OWNED: _total((part.nodes, part.owned) for part in several),
        BORROWED: _total((part.nodes, part.borrowed) for part in several),
    }
    unknown = [part.flavor for part in several if not part.nodes and (any(part.owned) or any(part.borrowed))]
    missing = f"the price of flavor {', '.join(unknown)} is unknown" if unknown else ""
    return Estimate("queue", queue, figures, missing)


def _total(amounts: Iterable[tuple[Sequence[NodePrice], tuple[float, float, float]]]) -> Usd | None:
    total = Usd(0, 0)
    for nodes, amount in amounts:
        if not any(amount):
            continue
        if not nodes:
            return None
        prices = [_of(node, *amount) for node in nodes]
        total += Usd(min(prices), max(prices))
    return total


def _of(node: NodePrice, cpus: float, memory_gib: float, gpus: float) -> float:
    """The price of as many nodes, and fractions of one, as have the amount. GPUs come with their cores and memory."""
    if node.accelerators:
        return node.usd * gpus / node.accelerators
    return node.usd * max(cpus / node.cpus, memory_gib / node.memory_gib)
