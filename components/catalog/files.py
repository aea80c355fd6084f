"""The catalog's data files, read once on first use."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, cast

from tensorplane.components.catalog.rows import Cloud, Machine

DATA = Path(__file__).parent / "data"
_SOURCE = "# source "
Sources = Mapping[str, tuple[str, str]]
"""Day and name of each source of a file, by its key there."""


class Figures(NamedTuple):
    """Price per hour in one region, with its source and date."""

    on_demand: float | None
    spot: float | None
    date: str
    source: str
    spot_date: str
    spot_source: str


class Local(NamedTuple):
    """An accelerator in one region: its zones, and its price without the machine."""

    zones: tuple[str, ...]
    figures: Figures


def rows(path: Path, first: str | None = None) -> Iterator[tuple[dict[str, str], Sources]]:
    """Each line of a data file by column, with the sources in the file's header.

    `first`: only lines with this first cell.
    """
    beginning = "" if first is None else f"{first},"
    with path.open(encoding="utf-8") as file:
        sources: dict[str, tuple[str, str]] = {}
        head = ""
        for head in file:
            if not head.startswith("#"):
                break
            if head.startswith(_SOURCE):
                key, date, name = head.removeprefix(_SOURCE).strip().split(" ", 2)
                sources[key] = date, name
        columns = head.rstrip("\n").split(",")
        # Cells have no commas, so no CSV parser is required, which would be slower for thousands of lines.
        for text in (line for line in file if line.startswith(beginning)):
            yield dict(zip(columns, text.rstrip("\n").split(","), strict=True)), sources


class CloudNames(NamedTuple):
    """Names of a cloud and its machines."""

    others: tuple[str, ...]
    """Other names of the cloud, in lower case."""
    size: str
    """A regular expression for the size in a machine's name; the rest is its family."""


@cache
def clouds() -> tuple[Cloud, ...]:
    """Every cloud; each has a folder of data."""
    return tuple(sorted(folder.name for folder in DATA.iterdir() if folder.is_dir()))


@cache
def names(cloud: Cloud) -> CloudNames:
    """A cloud's aliases, and the format of its machine names."""
    ((line, _),) = rows(DATA / cloud / "cloud.csv")
    return CloudNames(tuple(line["other_names"].split()), line["size"])


@cache
def machines(cloud: Cloud) -> tuple[Machine, ...]:
    """Every machine of a cloud, in the order of its file: plain ones first, then by accelerator."""
    return tuple(
        Machine(
            cloud=cloud,
            name=line["name"],
            vcpus=int(line["vcpus"]),
            memory_gib=float(line["memory_gib"]),
            arch=cast(Literal["amd64", "arm64"], line["arch"]),
            accelerator=line["accelerator"] or None,
            count=int(line["count"] or 0),
            cloud_accelerator=line["cloud_accelerator"] or None,
            attached=line["attached"] == "yes",
            image=line["image"],
            efa=int(line["efa"] or 0),
            gpudirect=line["gpudirect"] or None,
            topology=line["topology"] or None,
            source="{1} ({0})".format(*sources[line["source"]]),
        )
        for line, sources in rows(DATA / cloud / "machines.csv")
    )


@cache
def listed_everywhere(cloud: Cloud) -> frozenset[str]:
    """Machines with prices for all regions that sell them: a region without a price does not sell them."""
    return frozenset(line["name"] for line, *_ in rows(DATA / cloud / "machines.csv") if line["regions"] == "all")


@cache
def prices(cloud: Cloud, region: str) -> Mapping[str, Figures]:
    """A region's list prices by machine. The file has dozens of regions, and a stack is in one."""
    found = rows(DATA / cloud / "prices.csv", region)
    return {line["machine"]: _figures(line, sources) for line, sources in found}


@cache
def zones(cloud: Cloud) -> Mapping[str, tuple[str, ...]]:
    """Each region's zones; empty if unknown."""
    return {line["region"]: tuple(line["zones"].split()) for line, *_ in rows(DATA / cloud / "regions.csv")}


@cache
def locals_of(cloud: Cloud) -> Mapping[str, Mapping[str, Local]]:
    """Zones and price by accelerator or machine family, and region. Only for GKE."""
    path = DATA / cloud / "accelerators.csv"
    found: dict[str, dict[str, Local]] = {}
    for line, sources in rows(path) if path.exists() else ():
        zones = tuple(f"{line['region']}-{letter}" for letter in line["zones"].split())
        found.setdefault(line["of"], {})[line["region"]] = Local(zones, _figures(line, sources))
    return found


def _figures(line: Mapping[str, str], sources: Sources) -> Figures:
    of_spot = line.get("spot_source") or line["source"]
    return Figures(_number(line["on_demand"]), _number(line["spot"]), *sources[line["source"]], *sources[of_spot])


def _number(text: str) -> float | None:
    return float(text) if text else None
