"""The rows of the catalog that match the filters, as a table or as JSON."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from tensorplane.cli.commands.catalog import tables
from tensorplane.cli.commands.catalog.rows import Family, Offer, Row
from tensorplane.components import catalog
from tensorplane.components.catalog import Accelerator, Cloud, Machine, Price, Withdrawn
from tensorplane.core.errors import UserError
from tensorplane.stack_file.nearest import did_you_mean

KINDS = ("gpu", "tpu", "cpu")


@dataclass(frozen=True)
class CatalogFilters:
    """The filters; None and 0 do not filter."""

    cloud: str | None = None
    accelerator: str | None = None
    kind: str | None = None
    min_memory: float = 0
    region: str | None = None
    withdrawn: bool = False

    def clouds(self) -> tuple[Cloud, ...]:
        """The clouds to look in: if a region is named, those that have it."""
        candidates = tuple(cloud for cloud in catalog.clouds() if self.cloud in (None, cloud))
        return tuple(cloud for cloud in candidates if not self.region or self.region in catalog.regions(cloud))


def run(filters: CatalogFilters, as_json: bool, console: Console) -> None:
    """Prints the answer. A UserError if a filter's value is unknown, with the nearest known one."""
    check(filters)
    if filters.withdrawn:
        gone = withdrawn(filters)
        if as_json:
            print(json.dumps([dataclasses.asdict(each) for each in gone], indent=2))
        else:
            console.print(tables.withdrawn(gone))
        return
    if filters.kind == "cpu":
        families = list(cpu_families(filters))
        if as_json:
            print(json.dumps([dataclasses.asdict(family) for family in families], indent=2))
        else:
            console.print(tables.families(families, filters.region))
        return
    rows = list(accelerators(filters))
    if as_json:
        print(json.dumps([_as_json(row) for row in rows], indent=2))
    else:
        console.print(tables.accelerators(rows, filters.clouds(), filters.region, console.width))


def check(filters: CatalogFilters) -> None:
    """A UserError unless the catalog knows every filter's value."""
    _known("cloud", filters.cloud, catalog.clouds())
    _known("kind", filters.kind, KINDS)
    name = (filters.accelerator or "").lower()
    if (gone := catalog.WITHDRAWN.get(name)) and not filters.withdrawn:
        raise UserError(f"accelerator: {gone.name} is withdrawn ({gone.reason}); use {gone.successor}")
    if name in catalog.ACCELERATORS and filters.withdrawn:
        raise UserError(f"accelerator: {name} is not withdrawn; choose one of {', '.join(catalog.WITHDRAWN)}")
    names = catalog.WITHDRAWN if filters.withdrawn else catalog.ACCELERATORS
    _known("accelerator", filters.accelerator, names)
    clouds = [cloud for cloud in catalog.clouds() if filters.cloud in (None, cloud)]
    regions = [region for cloud in clouds for region in catalog.regions(cloud)]
    for other in catalog.clouds():
        if filters.cloud not in (None, other) and filters.region in catalog.regions(other):
            near = did_you_mean(filters.region, regions)
            raise UserError(f"region: {filters.region} is a region of {other}, not of {filters.cloud}{near}")
    _known("region", filters.region, regions, with_choices=False)  # too many to read


def gibibytes(text: str) -> float:
    """A filter's number; a UserError if the text is not a number."""
    # No sign, and none of the words that float() takes too, such as nan.
    if not re.fullmatch(r"\d+(\.\d*)?", text):
        raise UserError(f"min-memory: {text!r} is not a number; set GiB, such as 40")
    return float(text)


def _known(key: str, value: str | None, allowed: Iterable[str], *, with_choices: bool = True) -> None:
    allowed = list(allowed)
    if value is not None and value not in allowed:
        other = catalog.cloud_called(value)
        near = f" (did you mean {other}?)" if other in allowed else did_you_mean(value, allowed)
        choices = f"; choose one of {', '.join(allowed)}" if with_choices else ""
        raise UserError(f"{key}: unknown {value!r}{choices}{near}")


def withdrawn(filters: CatalogFilters) -> list[Withdrawn]:
    """Accelerators that are no longer offered."""
    if filters.accelerator:
        return [catalog.WITHDRAWN[filters.accelerator]]
    return [*catalog.WITHDRAWN.values(), *catalog.WITHDRAWN_MACHINES.values()]


def accelerators(filters: CatalogFilters) -> Iterator[Row]:
    """Each matching accelerator that these clouds offer, with its machines."""
    clouds = filters.clouds()
    for accelerator in catalog.ACCELERATORS.values():
        if filters.accelerator not in (None, accelerator.name) or filters.kind not in (None, accelerator.kind):
            continue
        if accelerator.memory_gib < filters.min_memory:
            continue
        offers = tuple(offer for cloud in clouds for offer in _offers(cloud, accelerator, filters.region))
        if offers:
            yield Row(accelerator, offers)


def _offers(cloud: Cloud, accelerator: Accelerator, region: str | None) -> Iterator[Offer]:
    for count in catalog.counts(cloud, accelerator.name):
        for machine in catalog.offers(cloud, accelerator.name, count):
            if not region or catalog.sold(cloud, machine, region) != ():
                yield Offer(machine, price(machine, region))


def price(machine: Machine, region: str | None) -> Price | None:
    """A machine's price in the region, or the lowest of all regions if none is named."""
    if region:
        return catalog.price(machine.cloud, machine, region)
    found = (catalog.price(machine.cloud, machine, each) for each in catalog.regions(machine.cloud))
    return min((each for each in found if each and each.on_demand), key=_on_demand, default=None)


def _on_demand(price: Price) -> float:
    return price.on_demand or 0


def cpu_families(filters: CatalogFilters) -> Iterator[Family]:
    """Machines without accelerators by family, those that are large enough and offered in the region."""
    for cloud in filters.clouds():
        found: dict[str, list[Machine]] = {}
        for machine in (catalog.machine(cloud, name) for name in catalog.machine_names(cloud)):
            if machine and not machine.accelerator and _fits(machine, filters):
                found.setdefault(catalog.family(machine), []).append(machine)
        for name, machines in found.items():
            machines.sort(key=lambda machine: (machine.vcpus, machine.memory_gib))
            yield Family(cloud, name, tuple(machines), price(machines[0], filters.region))


def _fits(machine: Machine, filters: CatalogFilters) -> bool:
    sold = not filters.region or catalog.sold(machine.cloud, machine, filters.region) != ()
    return sold and machine.memory_gib >= filters.min_memory


def _as_json(row: Row) -> dict[str, Any]:
    machines = [
        {**dataclasses.asdict(offer.machine), "price": dataclasses.asdict(offer.price) if offer.price else None}
        for offer in row.offers
    ]
    return {**dataclasses.asdict(row.accelerator), "machines": machines}
