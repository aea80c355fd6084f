"""The catalog as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tensorplane.cli.commands.catalog.rows import Family, Offer, Row
from tensorplane.cli.output.numbers import NOTHING, span, unit_price
from tensorplane.cli.output.tables import table
from tensorplane.components.catalog import Cloud, Machine, Price, Withdrawn

_COLUMNS = ("accelerator", "kind", "architecture", "year", "GiB", "CC", "NVL", "MIG", "MPS", "TS", "TF")
_COLUMNS_WIDTH = 66
_CLOUD_WIDTH = 28
_RIGHT = ("year", "GiB", "CC", "MIG", "vCPUs", "count", "EFA", "$/h", "spot")
_LEGEND = (
    "CC: compute capability. NVL: NVLink. MIG: most instances per accelerator. TS: time-slicing. TF: TensorFlow's own"
    " wheels support it."
)
_SMALLEST = "@1,4: accelerators per machine; machine and price ($/h on demand/spot) are those of the smallest."


def accelerators(rows: Sequence[Row], clouds: Sequence[Cloud], region: str | None, width: int) -> RenderableType:
    """A line per accelerator with a column per cloud if the terminal is wide enough, else a second table of machines.

    For a single accelerator, the tables have all of its machines.
    """
    if not rows:
        return Text("No match.")
    estimate = _estimate(region, _days(offer.price for row in rows for offer in row.offers))
    if len(rows) == 1:
        return Group(_accelerators(rows), "", _machines(rows[0]), _note(_LEGEND, estimate))
    if width - _COLUMNS_WIDTH >= _CLOUD_WIDTH * len(clouds):
        return Group(_accelerators(rows, clouds), _note(_LEGEND, _SMALLEST, estimate))
    return Group(_accelerators(rows), "", _smallest(rows, clouds), _note(_LEGEND, estimate))


def _accelerators(rows: Iterable[Row], clouds: Sequence[Cloud] = ()) -> Table:
    return _table((*_COLUMNS, *clouds), (_cells(row, clouds) for row in rows))


def _cells(row: Row, clouds: Sequence[Cloud]) -> tuple[str, ...]:
    accelerator = row.accelerator
    return (
        accelerator.name,
        accelerator.kind,
        accelerator.architecture,
        str(accelerator.year),
        f"{accelerator.memory_gib:g}",
        accelerator.compute_capability or NOTHING,
        _yes(accelerator.nvlink),
        str(max(accelerator.mig_instances)) if accelerator.mig else NOTHING,
        _yes(accelerator.mps),
        _yes(accelerator.time_slicing),
        _yes(accelerator.tensorflow),
        *(_offer(row, cloud) for cloud in clouds),
    )


def _offer(row: Row, cloud: Cloud) -> str:
    found = [offer for offer in row.offers if offer.machine.cloud == cloud]
    if not found:
        return ""
    price = found[0].price
    prices = "/".join(_costs(price)) if price else NOTHING
    return f"{found[0].machine.name} @{_counts(found)} {prices}"


def _smallest(rows: Iterable[Row], clouds: Sequence[Cloud]) -> Table:
    headings = ("accelerator", "cloud", "smallest machine", "counts", "$/h", "spot")
    return _table(headings, (cells for row in rows for cells in _smallest_of(row, clouds)))


def _smallest_of(row: Row, clouds: Iterable[Cloud]) -> Iterator[tuple[str, ...]]:
    name = row.accelerator.name
    for cloud in clouds:
        found = [offer for offer in row.offers if offer.machine.cloud == cloud]
        if found:
            yield (name, cloud, found[0].machine.name, _counts(found), *_costs(found[0].price))
            name = ""


def _machines(row: Row) -> Table:
    headings = ("cloud", "machine", "count", "vCPUs", "GiB", "arch", "image", "EFA", "GPUDirect", "$/h", "spot")
    return _table(headings, (_machine(offer.machine, offer.price) for offer in row.offers))


def _machine(machine: Machine, price: Price | None) -> tuple[str, ...]:
    return (
        machine.cloud,
        machine.name,
        str(machine.count),
        str(machine.vcpus),
        f"{machine.memory_gib:g}",
        machine.arch,
        machine.image,
        str(machine.efa or NOTHING),
        machine.gpudirect or NOTHING,
        *_costs(price),
    )


def _counts(offers: Iterable[Offer]) -> str:
    return ",".join(map(str, sorted({offer.machine.count for offer in offers})))


def _costs(price: Price | None) -> tuple[str, str]:
    return unit_price(price.on_demand if price else None), unit_price(price.spot if price else None)


def _note(*sentences: str) -> Text:
    return Text(" ".join(sentences), style="dim")


def families(rows: Sequence[Family], region: str | None) -> RenderableType:
    """A line per family of machines without accelerators."""
    if not rows:
        return Text("No match.")
    headings = ("cloud", "family", "arch", "vCPUs", "GiB", "machines", "$/h", "spot")
    dates = _days(row.price for row in rows)
    note = _note("Prices are those of the smallest machine.", _estimate(region, dates))
    return Group(_table(headings, map(_family, rows)), note)


def _family(row: Family) -> tuple[str, ...]:
    small, large = row.machines[0], row.machines[-1]
    return (
        row.cloud,
        row.name,
        small.arch,
        span(machine.vcpus for machine in row.machines),
        span(machine.memory_gib for machine in row.machines),
        small.name if small is large else f"{small.name} … {large.name}",
        *_costs(row.price),
    )


def withdrawn(rows: Iterable[Withdrawn]) -> RenderableType:
    """A line per withdrawn accelerator, with its successor."""
    return _table(("withdrawn", "use", "because"), ((row.name, row.successor, row.reason) for row in rows))


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    return table(headings, rows, right=_RIGHT, unwrapped=_COLUMNS, narrow=True)


def _yes(value: bool) -> str:
    return "yes" if value else NOTHING


def _days(prices: Iterable[Price | None]) -> set[str]:
    """The dates of the prices, including spot prices."""
    return {day for price in prices if price for day in (price.date, price.spot_date) if day}


def _estimate(region: str | None, dates: set[str]) -> str:
    cheapest_or_region = f"in {region}" if region else "in the cheapest region"
    when = " to ".join(sorted({min(dates), max(dates)})) if dates else "no date"
    return f"List prices {cheapest_or_region}, an estimate as of {when}."
