"""What the cluster recorded: GPU-hours by month, team, queue and flavor, with an estimate of their cost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from tensorplane.agents.usage.state import PREFIX, UsageState
from tensorplane.cli.api_values import Object
from tensorplane.cli.kueue import prices, workloads
from tensorplane.cli.kueue.objects import KUEUE
from tensorplane.cli.kueue.prices import Prices
from tensorplane.cli.output.numbers import spent
from tensorplane.cli.output.tables import table
from tensorplane.components.base.labels import COMPONENT
from tensorplane.components.base.price import Usd
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.target import Target

_HEADINGS = ("month", "team", "queue", "flavor", "GPU-hours", "estimate")
_ALL_MONTHS = "all"
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")
_NOTE = "Times are UTC. Estimates are at the list prices of the deployed stack; - means unknown."


@dataclass(frozen=True)
class UsageOptions:
    """The command's arguments."""

    stack: str
    context: str = ""
    month: str | None = None
    as_json: bool = False


def run(options: UsageOptions, console: Console) -> None:
    """Asks the stack's cluster, and prints. A UserError if the stack records no usage."""
    month = options.month or f"{datetime.now(UTC):%Y-%m}"
    if month != _ALL_MONTHS and not _MONTH.fullmatch(month):
        raise UserError(f"--month: {month!r} is not a month; set one such as {datetime.now(UTC):%Y-%m}, or all")
    target = Target.of(options.context, stack=options.stack)
    settings = StackSettings(options.stack, target.home)
    settings.source()
    found = recorded(target.answering_api(), settings)
    shown = [row for row in found if month in (_ALL_MONTHS, row.month)]
    if options.as_json:
        print(json.dumps([asdict(row) for row in shown], indent=2))
    else:
        show(shown, month, console)


def recorded(api: Kube, settings: StackSettings) -> list[Row]:
    """Everything that the stack's agent recorded. A UserError if it recorded nothing yet."""
    namespace = settings.namespace
    maps = api.items(f"/api/v1/namespaces/{namespace}/configmaps", labelSelector=f"{COMPONENT}=usage")
    records = [one for one in maps if one["metadata"]["name"].startswith(PREFIX)]
    if not records:
        reason = f"stack {settings.of_platform.name}: the cluster has recorded no usage"
        raise UserError(f"{reason}; it does once a stack with queues that have GPUs is deployed")
    teams = settings.section("teams").items()
    names = {(args or {}).get("namespace") or name: name for name, args in teams}
    return usage_rows(records, api.items(f"{KUEUE}/resourceflavors"), names)


def show(found: Sequence[Row], month: str, console: Console) -> None:
    """A table for people."""
    if not found:
        console.print(
            Text(f"No job has held GPUs in {month}." if month != _ALL_MONTHS else "No job has held GPUs yet.")
        )
        return
    cells = [
        (row.month, row.team or "-", row.queue, row.flavor, f"{row.gpu_hours:,.1f}", spent(row.usd)) for row in found
    ]
    if len(found) > 1:
        hours, usd = total(found)
        cells.append(("together", "", "", "", f"{hours:,.1f}", spent(usd)))
    console.print(table(_HEADINGS, cells, right=("GPU-hours", "estimate")))
    console.print(Text(_NOTE, style="dim"))


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


def usage_rows(records: Sequence[Object], flavors: Sequence[Object], teams: Mapping[str, str]) -> list[Row]:
    """From the agent's ConfigMaps and the ResourceFlavors. `teams`: names by namespace."""
    names, costs = workloads.flavor_names(flavors), prices.of(flavors)
    return sorted(
        (row for one in records for row in _rows(one, names, costs, teams)),
        key=lambda row: (row.month, row.team or "", row.queue, row.flavor),
    )


def _rows(one: Object, names: Mapping[str, str], costs: Prices, teams: Mapping[str, str]) -> Iterator[Row]:
    team = teams.get(str(one["metadata"]["name"]).removeprefix(PREFIX))
    for month, queues in UsageState.from_data(one.get("data") or {}).usage.items():
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
