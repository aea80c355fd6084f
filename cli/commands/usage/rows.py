"""GPU-hours by month, team, queue and flavor, with an estimate of their cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agents.usage.state import PREFIX, UsageState
from cli.api_values import Object
from cli.kueue import prices, workloads
from cli.kueue.prices import Prices
from components.base.price import Usd


@dataclass(frozen=True)
class Row:
    """What the jobs of one queue and namespace held of one flavor in a month."""

    month: str
    """As 2026-11, in UTC."""
    team: str | None
    """None for the stack's own namespace."""
    queue: str
    flavor: str
    gpu_hours: float
    usd: Usd | None
    """An estimate at list prices; None if the price of the flavor is unknown."""


def of(records: Sequence[Object], flavors: Sequence[Object], teams: Mapping[str, str]) -> list[Row]:
    """From the agent's ConfigMaps and the ResourceFlavors. `teams`: names by namespace."""
    names, costs = workloads.flavor_names(flavors), prices.of(flavors)
    return sorted(
        (row for one in records for row in _rows(one, names, costs, teams)),
        key=lambda row: (row.month, row.team or "", row.queue, row.flavor),
    )


def _rows(one: Object, names: Mapping[str, str], costs: Prices, teams: Mapping[str, str]) -> Iterator[Row]:
    team = teams.get(str(one["metadata"]["name"]).removeprefix(PREFIX))
    for month, queues in UsageState.read(one.get("data") or {}).usage.items():
        for queue, held in queues.items():
            for flavor, seconds in held.items():
                hours = seconds / 3600
                yield Row(month, team, queue, names.get(flavor, flavor), round(hours, 3), _cost(hours, flavor, costs))


def _cost(hours: float, flavor: str, costs: Prices) -> Usd | None:
    each = [node.usd / node.accelerators for node in costs.get(flavor, ()) if node.accelerators]
    return Usd(min(each), max(each)) * hours if each else None


def total(rows: Sequence[Row]) -> tuple[float, Usd | None]:
    """GPU-hours of all rows, and their cost; None if one is unknown."""
    known = [row.usd for row in rows if row.usd]
    usd = sum(known, Usd(0, 0)) if len(known) == len(rows) else None
    return sum(row.gpu_hours for row in rows), usd
