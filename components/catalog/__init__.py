"""The hardware catalog: which accelerators exist, which machines carry them, where they are sold and at what price.

Facts with their sources, no resources. A cloud's files are read on first use, not at import.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from tensorplane.components.catalog import files
from tensorplane.components.catalog.accelerators import ACCELERATORS
from tensorplane.components.catalog.rows import (
    GPU_RESOURCE,
    TPU_RESOURCE,
    Accelerator,
    Cloud,
    Machine,
    Price,
    Withdrawn,
)
from tensorplane.components.catalog.withdrawn import WITHDRAWN, WITHDRAWN_MACHINES

__all__ = [
    "ACCELERATORS",
    "GPU_RESOURCE",
    "TPU_RESOURCE",
    "WITHDRAWN",
    "WITHDRAWN_MACHINES",
    "Accelerator",
    "Cloud",
    "Machine",
    "Price",
    "Withdrawn",
    "cloud_called",
    "clouds",
    "counts",
    "family",
    "machine",
    "machine_names",
    "offers",
    "price",
    "regions",
    "resource_of",
    "sold",
    "zones",
]


def resource_of(accelerators: Iterable[str]) -> str:
    """The extended resource of accelerators by their names; that of GPUs for none, and for unknown ones."""
    found = (ACCELERATORS.get(name) for name in accelerators)
    return next((accelerator.resource for accelerator in found if accelerator), GPU_RESOURCE)


def clouds() -> tuple[Cloud, ...]:
    """The clouds that the catalog knows."""
    return files.clouds()


def cloud_called(name: str) -> Cloud | None:
    """The cloud with this alias, such as eks for aws; None if there is none."""
    return next((cloud for cloud in clouds() if name.lower() in files.names(cloud).others), None)


def family(machine: Machine) -> str:
    """A machine's name without its size: m7i, n2-standard, Standard_Ds_v5."""
    return re.sub(files.names(machine.cloud).size, "", machine.name, count=1)


def machine(cloud: Cloud, name: str) -> Machine | None:
    """A machine type by its name in the cloud. One to which accelerators can be added comes without them."""
    return _by_name(cloud).get(name)


def machine_names(cloud: Cloud) -> tuple[str, ...]:
    """Every machine type of a cloud, each once."""
    return tuple(_by_name(cloud))


def offers(cloud: Cloud, accelerator: str, per_node: int) -> tuple[Machine, ...]:
    """Machines with exactly this number of an accelerator, the smallest first; no bare metal, no fractional GPUs."""
    return _by_accelerator(cloud).get((accelerator, per_node), ())


def counts(cloud: Cloud, accelerator: str) -> tuple[int, ...]:
    """Possible numbers of an accelerator per machine."""
    return tuple(sorted(count for name, count in _by_accelerator(cloud) if name == accelerator))


def price(cloud: Cloud, machine: Machine | str, region: str) -> Price | None:
    """List price of a machine in a region; None if the catalog has none.

    A `Machine` with attached accelerators (GKE's N1) costs the sum; its name alone means the plain machine.
    """
    row = _by_name(cloud).get(machine) if isinstance(machine, str) else machine
    if row is None:
        return None
    plain = files.prices(cloud, region).get(row.name)
    if not _sold_by_accelerator(row):
        return _price(plain, plain.on_demand, plain.spot, region) if plain else None
    local = _locals(row).get(region)
    if local is None:
        return None
    each = local.figures
    if row.attached:
        if plain is None:
            return None
        sums = (_sum(plain.on_demand, row.count, each.on_demand), _sum(plain.spot, row.count, each.spot))
        return _price(each, *sums, region, f"{plain.source} ({plain.date}) + {each.source}")
    return _price(each, _sum(0, row.count, each.on_demand), _sum(0, row.count, each.spot), region)


def regions(cloud: Cloud) -> tuple[str, ...]:
    """The cloud's regions that the catalog knows."""
    return tuple(files.zones(cloud))


def zones(cloud: Cloud, region: str) -> tuple[str, ...]:
    """A region's zones as the cloud's API names them (us-west-2a, us-central1-a, on AKS 1); empty if unknown."""
    return files.zones(cloud).get(region, ())


def sold(cloud: Cloud, machine: Machine | str, region: str) -> tuple[str, ...] | None:
    """The zones of a region that may sell a machine; empty if the region does not sell it, None if unknown.

    All zones of the region, unless the catalog knows which have the accelerator.
    """
    row = _by_name(cloud).get(machine) if isinstance(machine, str) else machine
    if row is None or region not in files.zones(cloud):
        return None
    local = _locals(row).get(region)
    if local:
        return local.zones
    if not _sold_by_accelerator(row) and row.name in files.prices(cloud, region):
        return zones(cloud, region) or None
    return () if row.name in files.listed_everywhere(cloud) else None


def _locals(row: Machine) -> Mapping[str, files.Local]:
    """Accelerators that are sold separately from the machine, by region."""
    key = row.accelerator if _sold_by_accelerator(row) else row.name.rpartition("-")[0]
    return files.locals_of(row.cloud).get(key or "", {})


def _sold_by_accelerator(row: Machine) -> bool:
    """Whether accelerators have a price of their own: attached ones, and TPUs."""
    return row.attached or row.topology is not None


def _sum(machine: float | None, count: int, each: float | None) -> float | None:
    return None if machine is None or each is None else round(machine + count * each, 6)


def _price(figures: files.Figures, on_demand: float | None, spot: float | None, region: str, source: str = "") -> Price:
    of_spot = (figures.spot_date, source or figures.spot_source) if spot is not None else (None, None)
    return Price(on_demand, spot, region, figures.date, source or figures.source, *of_spot)


@cache
def _by_name(cloud: Cloud) -> Mapping[str, Machine]:
    found: dict[str, Machine] = {}
    for row in files.machines(cloud):
        # Plain machines come first in a file, so that a name means the machine without attached accelerators.
        found.setdefault(row.name, row)
    return found


@cache
def _by_accelerator(cloud: Cloud) -> Mapping[tuple[str, int], tuple[Machine, ...]]:
    found: dict[tuple[str, int], list[Machine]] = {}
    for row in files.machines(cloud):
        if row.accelerator:
            found.setdefault((row.accelerator, row.count), []).append(row)
    return {
        key: tuple(sorted(machines, key=lambda row: (row.vcpus, row.memory_gib))) for key, machines in found.items()
    }
