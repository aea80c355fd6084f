"""The format of the data files: a header with description and sources, then lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_BY = "Written by `make catalog-update`; see docs/catalog.md. Do not edit."


def words(text: str) -> list[str]:
    """A list that is easier to read as text."""
    return text.split()


MACHINES = words(
    "name vcpus memory_gib arch accelerator count cloud_accelerator attached"
    " image efa gpudirect topology regions source"
)
PRICES = ["region", "machine", "on_demand", "spot", "source"]
PRICES_OF_TWO_SOURCES = [*PRICES, "spot_source"]
REGIONS = ["region", "zones", "source"]


@dataclass(frozen=True)
class Source:
    """A source of lines: a short key, the date of the figures, the full name."""

    key: str
    date: str
    name: str


@dataclass(frozen=True)
class MachineLine:
    """A machine's line; `regions` is `all` if there are prices for all regions that sell it."""

    name: str
    vcpus: int
    memory_gib: float
    source: str
    image: str
    arch: str = "amd64"
    accelerator: str = ""
    count: int = 0
    cloud_accelerator: str = ""
    attached: bool = False
    efa: int = 0
    gpudirect: str = ""
    topology: str = ""
    regions: str = ""

    def fields(self) -> Mapping[str, object]:
        """Values by column; missing ones are empty."""
        shown = {key: getattr(self, key) or "" for key in MACHINES}
        return {**shown, "memory_gib": f"{self.memory_gib:g}", "attached": "yes" if self.attached else ""}


def write(
    path: Path, title: str, columns: Iterable[str], sources: Iterable[Source], lines: Iterable[Mapping[str, object]]
) -> None:
    """Writes one data file. Cells have no commas, so nothing is quoted and a diff is readable."""
    columns = list(columns)
    head = [f"# {title} {_BY}", *(f"# source {source.key} {source.date} {source.name}" for source in sources)]
    body = [",".join(str(line.get(column, "")) for column in columns) for line in lines]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*head, ",".join(columns), *body]) + "\n", encoding="utf-8")


def price(
    region: str, machine: str, on_demand: float | None, spot: float | None, source: str, spot_source: str = ""
) -> Mapping[str, object]:
    """One line of prices, rounded to a hundredth of a cent. `spot_source`: if the spot price is from another source."""
    cells = {"on_demand": on_demand, "spot": spot}
    shown = {key: "" if value is None else f"{value:.4f}".rstrip("0").rstrip(".") for key, value in cells.items()}
    elsewhere = "" if spot is None else spot_source
    return {"region": region, "machine": machine, **shown, "source": source, "spot_source": elsewhere}
