"""The catalog as tables for the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cli.catalog_rows import Family, Offer, Row
from components.catalog import Cloud, Machine, Price, Withdrawn

_FACTS = ("accelerator", "kind", "architecture", "year", "GiB", "CC", "NVL", "MIG", "MPS", "TS", "TF")
_FACTS_WIDTH = 66
_CLOUD_WIDTH = 28
_RIGHT = ("year", "GiB", "CC", "MIG", "vCPUs", "count", "EFA", "$/h", "spot")
_LEGEND = (
    "CC: compute capability. NVL: NVLink. MIG: instances of a card at most. TS: time-slicing. TF: TensorFlow's own"
    " wheels run on it."
)
_SMALLEST = "@1,4: how many a machine can have; machine and price ($/h on demand/spot) are of the first."


def accelerators(rows: Sequence[Row], clouds: Sequence[Cloud], region: str | None, width: int) -> RenderableType:
    """A line per accelerator with a column per cloud where there is room, else the clouds' machines in a second table.

    One accelerator alone comes with every machine that has it.
    """
    if not rows:
        return Text("Nothing fits.")
    estimate = _estimate(region, {offer.price.date for row in rows for offer in row.offers if offer.price})
    if len(rows) == 1:
        return Group(_facts(rows), "", _machines(rows[0]), _note(_LEGEND, estimate))
    if width - _FACTS_WIDTH >= _CLOUD_WIDTH * len(clouds):
        return Group(_facts(rows, clouds), _note(_LEGEND, _SMALLEST, estimate))
    return Group(_facts(rows), "", _smallest(rows, clouds), _note(_LEGEND, estimate))


def _facts(rows: Iterable[Row], clouds: Sequence[Cloud] = ()) -> Table:
    table = _table(*_FACTS, *clouds)
    for row in rows:
        card = row.accelerator
        table.add_row(
            Text(card.name, style="bold"),
            card.kind,
            card.architecture,
            str(card.year),
            f"{card.memory_gib:g}",
            card.compute_capability or "-",
            _yes(card.nvlink),
            str(max(card.mig_instances)) if card.mig else "-",
            _yes(card.mps),
            _yes(card.time_slicing),
            _yes(card.tensorflow),
            *(Text(_cell(row, cloud)) for cloud in clouds),
        )
    return table


def _cell(row: Row, cloud: Cloud) -> str:
    found = [offer for offer in row.offers if offer.machine.cloud == cloud]
    if not found:
        return ""
    cost = found[0].price
    prices = f"{_amount(cost.on_demand)}/{_amount(cost.spot)}" if cost else "-"
    return f"{found[0].machine.name} @{_counts(found)} {prices}"


def _smallest(rows: Iterable[Row], clouds: Iterable[Cloud]) -> Table:
    table = _table("accelerator", "cloud", "smallest machine", "counts", "$/h", "spot")
    for row in rows:
        name = row.accelerator.name
        for cloud in clouds:
            found = [offer for offer in row.offers if offer.machine.cloud == cloud]
            if found:
                machine, cost = found[0].machine.name, found[0].price
                table.add_row(Text(name, style="bold"), cloud, Text(machine), _counts(found), *_costs(cost))
                name = ""
    return table


def _machines(row: Row) -> Table:
    table = _table("cloud", "machine", "count", "vCPUs", "GiB", "arch", "image", "EFA", "GPUDirect", "$/h", "spot")
    for offer in row.offers:
        machine = offer.machine
        table.add_row(
            machine.cloud,
            Text(machine.name),
            str(machine.count),
            str(machine.vcpus),
            f"{machine.memory_gib:g}",
            machine.arch,
            machine.image,
            str(machine.efa or "-"),
            machine.gpudirect or "-",
            *_costs(offer.price),
        )
    return table


def _counts(offers: Iterable[Offer]) -> str:
    return ",".join(map(str, sorted({offer.machine.count for offer in offers})))


def _costs(price: Price | None) -> tuple[str, str]:
    return _amount(price.on_demand if price else None), _amount(price.spot if price else None)


def _note(*sentences: str) -> Text:
    return Text(" ".join(sentences), style="dim")


def families(rows: Sequence[Family], region: str | None) -> RenderableType:
    """A line per family of machines without accelerators."""
    if not rows:
        return Text("Nothing fits.")
    table = _table("cloud", "family", "arch", "vCPUs", "GiB", "machines", "$/h", "spot")
    for row in rows:
        small, large = row.machines[0], row.machines[-1]
        table.add_row(
            row.cloud,
            row.name,
            small.arch,
            _span(machine.vcpus for machine in row.machines),
            _span(machine.memory_gib for machine in row.machines),
            Text(small.name if small is large else f"{small.name} … {large.name}"),
            *_costs(row.price),
        )
    dates = {row.price.date for row in rows if row.price}
    return Group(table, _note("Prices are those of the smallest machine.", _estimate(region, dates)))


def withdrawn(rows: Iterable[Withdrawn]) -> RenderableType:
    """A line per name that is gone, with what to use now."""
    table = _table("withdrawn", "use", "because")
    for row in rows:
        table.add_row(row.name, row.successor, row.reason)
    return table


def family(machine: Machine) -> str:
    """A machine's name without its size: m7i, n2-standard, Standard_Ds_v5."""
    if machine.cloud == "eks":
        return machine.name.split(".")[0]
    if machine.cloud == "gke":
        return machine.name.rpartition("-")[0]
    return re.sub(r"\d+", "", machine.name, count=1)


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="dim")
    for heading in headings:
        justify: Literal["left", "right"] = "right" if heading in _RIGHT else "left"
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=heading in _FACTS)
    return table


def _yes(fact: bool) -> str:
    return "yes" if fact else "-"


def _amount(dollars: float | None) -> str:
    if dollars is None:
        return "-"
    return f"{dollars:.2f}" if dollars >= 1 else f"{dollars:.3g}"


def _span(numbers: Iterable[float]) -> str:
    found = sorted(set(numbers))
    return f"{found[0]:g}" if len(found) == 1 else f"{found[0]:g}-{found[-1]:g}"


def _estimate(region: str | None, dates: set[str]) -> str:
    where = f"in {region}" if region else "in the cheapest region"
    when = " to ".join(sorted({min(dates), max(dates)})) if dates else "no date"
    return f"List prices {where}, an estimate as of {when}."
