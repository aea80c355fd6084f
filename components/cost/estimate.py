"""An estimate: named figures in US dollars, each a range, or what is missing to know them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from components.base import outputs
from components.base.price import Usd

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
