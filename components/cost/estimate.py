"""An estimate: named figures in US dollars, each a range, or what is missing to know them.

Those of node groups and queues are here; those of pods need what decides where pods run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tensorplane.components.base import outputs
from tensorplane.components.base.price import NodePrice, Usd
from tensorplane.components.node_groups.shape import Shape

MIN, EXPECTED, MAX, MONTH = "min", "expected", "max", "month"
"""Figures of a node group: per hour at its minimum, on average and at its maximum, and per month on average."""
OWNED, BORROWED = "owned", "borrowed"
"""Figures of a queue: per hour of all of its own quota, and of all that it may borrow."""
HOUR, RUN = "hour", "run"
"""Figures of a training run: per hour, and for as long as the last one took."""
HOURS_PER_MONTH = 730
"""A twelfth of a year."""

Kind = Literal["group", "queue", "run"]
NOT_RECORDED = "the deployed version recorded no estimate"


@dataclass(frozen=True)
class Estimate:
    """What one node group, queue or training run costs, without taxes, discounts, disks and network traffic."""

    kind: Kind
    name: str
    figures: Mapping[str, Usd | None]
    """By name; None where a figure is unknown."""
    missing: str = ""
    """Why figures are unknown; empty if none is."""
    date: str = ""
    """Date of the list prices; empty for what follows from several prices."""

    def plain(self) -> outputs.Cost:
        """What components register, and the stack's state keeps until the next update."""
        figures = {name: [round(usd.low, 4), round(usd.high, 4)] if usd else None for name, usd in self.figures.items()}
        return outputs.Cost(figures=figures, missing=self.missing, date=self.date)


def registered(kind: Kind, name: str, cost: outputs.Cost | None) -> Estimate:
    """The estimate that a component registered; None by a version that registered none."""
    if cost is None:
        return Estimate(kind, name, {}, missing=NOT_RECORDED)
    figures = {figure: Usd(*bounds) if bounds else None for figure, bounds in cost["figures"].items()}
    return Estimate(kind, name, figures, cost["missing"], cost["date"])


def of_group(shape: Shape) -> Estimate:
    """The estimate of one node group. What it costs on average is unknown without `expected`, except if its size is
    fixed."""
    args, each = shape.args, shape.hourly_usd
    on_average = args.expected if args.expected is not None else args.min if args.min == args.max else None
    counts = {
        MIN: args.min,
        EXPECTED: on_average,
        MAX: args.max,
        MONTH: None if on_average is None else on_average * HOURS_PER_MONTH,
    }
    figures = {
        name: None if each is None or count is None else Usd(each, each) * count for name, count in counts.items()
    }
    undeclared = "the average number of nodes is not declared; set nodeGroups.*.expected" if on_average is None else ""
    return Estimate("group", shape.name, figures, shape.price_missing or undeclared, shape.price_date)


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


def of_quotas(queue: str, parts: Iterable[Part]) -> Estimate:
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
