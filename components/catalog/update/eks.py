"""AWS: machines from Karpenter's reference, prices from Karpenter and from lists by region.

One lists machines with GPUs, the other those that Red Hat's OpenShift takes. Spot prices follow from AWS' Spot Instance
Advisor.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tensorplane.components.catalog.update import table
from tensorplane.components.catalog.update.snapshot import Snapshot
from tensorplane.components.catalog.update.table import MachineLine, Source

_TYPES = "website/content/en/docs/reference/instance-types.md"
_PRICES = "pkg/providers/pricing/zz_generated.pricing_aws.go"
_GOVERNMENT = "pkg/providers/pricing/zz_generated.pricing_aws_us_gov.go"
_BY_REGION = "data/all_gpu_instances.js"
_OPENSHIFT = "price/out/ec2.sql"
_OPENSHIFT_AT = "price/out/info.json"
_OPENSHIFT_REGIONS = "price/data/regions.json"
_OPENSHIFT_LINE = re.compile(r"values \('[^']*','([^']*)','([^']*)','Linux',([0-9.]+),")
_ADVISOR = "internal/spot/data/spot-advisor-data.json"
_ZONES = "pkg/zones/wellknown.go"
_EXCEPTIONS = "moto/ec2/models/availability_zones_and_regions.py"
_REGION = re.compile(r"[a-z]{2}(-gov)?-[a-z]+-\d")

# In these regions, the names of zones differ between accounts, so the catalog lists none.
_BY_ACCOUNT: Mapping[str, list[str]] = {"us-west-1": []}

_CPU_FAMILIES = table.words(
    "t3 t3a t4g"
    " m5 m5a m5d m5n m6i m6a m6g m6id m6gd m6in m7i-flex m7i m7a m7g m7gd m8i-flex m8i m8a m8g m8gd"
    " c5 c5a c5d c5n c6i c6a c6g c6id c6gd c6gn c6in c7i-flex c7i c7a c7g c7gd c7gn c8i-flex c8i c8a c8g c8gd"
    " r5 r5a r5d r6i r6a r6g r6id r6gd r7i r7a r7g r7gd r7iz r8i-flex r8i r8a r8g r8gd"
    " i3en i4g i4i i7i i7ie i8g x2gd x2idn x8g"
)
# Karpenter's names of GPUs, and the catalog's. Fractional GPUs (g6f, gr6f) count 0 there and are omitted; so are GPUs
# that no EKS image supports (RTX PRO 4500 of g7 requires driver 595) and those of other vendors.
_GPUS = {"t4": "t4", "t4g": "t4g", "a10g": "a10g", "l4": "l4", "l40s": "l40s", "v100": "v100-32gb", "h100": "h100-80gb"}
_GPUS |= {"h200": "h200", "b200": "b200", "b300": "b300", "rtx-pro-server-6000": "rtx-pro-6000"}
_A100 = {"40960": "a100-40gb", "81920": "a100-80gb"}
_RDMA = re.compile(r"p(4de?|5e?n?|6-b\d+)\.")
# Available for years before the lists by region were created, so regions that are not listed do not sell them.
_SETTLED = ("g4dn.", "g5.", "g5g.", "p3dn.", "p4d.", "p4de.")


def update(snapshots: Path, out: Path) -> None:
    """Writes the files of EKS."""
    karpenter = Snapshot.find(snapshots, "aws/karpenter-provider-aws")
    listing = Snapshot.find(snapshots, "tsaol/aws-gpu")
    kops = Snapshot.find(snapshots, "kubernetes/kops")
    moto = Snapshot.find(snapshots, "getmoto/moto")
    openshift = Snapshot.find(snapshots, "jimgarrett123/rosa-calculator")
    spotinfo = Snapshot.find(snapshots, "alexei-led/spotinfo")
    go, by_region = karpenter.text(_PRICES), listing.text(_BY_REGION)
    government = karpenter.text(_GOVERNMENT)
    sources = [
        Source("k", _search(r"generated at (\S{10})", go), karpenter.source(_PRICES)),
        Source("u", _search(r"generated at (\S{10})", government), karpenter.source(_GOVERNMENT)),
        Source("l", _search(r"Last updated: (\S{10})", by_region), listing.source(_BY_REGION)),
        Source("o", _day(openshift.text(_OPENSHIFT_AT)), openshift.source(_OPENSHIFT)),
        Source("a", spotinfo.day(_ADVISOR), spotinfo.source(_ADVISOR)),
    ]
    # Later lists are newer.
    found = {
        **_openshift(openshift.text(_OPENSHIFT), openshift.text(_OPENSHIFT_REGIONS)),
        **_prices(by_region),
        **_karpenter(government, "u"),
        **_karpenter(go),
    }
    savings = _savings(spotinfo.text(_ADVISOR))
    exceptions = _exceptions(moto.text(_EXCEPTIONS))
    zones = {**_zones(kops.text(_ZONES)), **exceptions, **_BY_ACCOUNT}
    regions = sorted({*zones, *(region for region, _ in found)})
    priced = {name for _, name in found}
    # The first of equal machines is preferred: one with a list price, because the others require a term.
    machines = sorted(
        _machines(karpenter.text(_TYPES)),
        key=lambda line: (line.accelerator, line.name not in priced, line.name.split(".")[0], line.vcpus),
    )
    types = Source("k", karpenter.day(_TYPES), karpenter.source(_TYPES))
    table.write(out / "machines.csv", "Machines of EKS.", table.MACHINES, [types], (line.fields() for line in machines))
    names = [line.name for line in machines]
    lines = [
        _price(region, name, found[region, name], savings.get((region, name)))
        for region in regions
        for name in names
        if (region, name) in found
    ]
    table.write(out / "prices.csv", "Linux, shared tenancy, USD per hour.", table.PRICES_OF_TWO_SOURCES, sources, lines)
    zone_sources = [
        Source("z", kops.day(_ZONES), kops.source(_ZONES)),
        Source("m", moto.day(_EXCEPTIONS), moto.source(_EXCEPTIONS)),
    ]
    cells = [
        {"region": region, "zones": " ".join(zones.get(region, ())), "source": "m" if region in exceptions else "z"}
        for region in regions
    ]
    table.write(out / "regions.csv", "Regions of AWS and their zones.", table.REGIONS, zone_sources, cells)


def _machines(text: str) -> Iterator[MachineLine]:
    for name, fields in _sections(text):
        family, _, size = name.partition(".")
        if "metal" in size:
            continue
        gpu = fields.get("instance-gpu-name", "")
        accelerator = _A100.get(fields.get("instance-gpu-memory", "")) if gpu == "a100" else _GPUS.get(gpu)
        count = int(fields.get("instance-gpu-count", "0"))
        arm = fields["kubernetes.io/arch"] == "arm64"
        if (accelerator and count) or (not gpu and family in _CPU_FAMILIES):
            machine = "ARM_64" if arm else "x86_64"
            efa = int(fields.get("vpc.amazonaws.com/efa", "0"))
            yield MachineLine(
                name=name,
                vcpus=int(fields["instance-cpu"]),
                memory_gib=int(fields["instance-memory"]) / 1024,
                source="k",
                image=f"AL2023_{machine}_{'NVIDIA' if accelerator else 'STANDARD'}",
                arch="arm64" if arm else "amd64",
                accelerator=accelerator or "",
                count=count if accelerator else 0,
                efa=efa,
                gpudirect="RDMA" if efa and _RDMA.match(name) else "",
                regions="all" if name.startswith(_SETTLED) else "",
            )


def _sections(text: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Labels (without their prefix) and resources of each machine, by name."""
    for section in text.split("\n### `")[1:]:
        name, _, body = section.partition("`")
        cells = re.findall(r"^ \|(?:karpenter\.k8s\.aws/)?([^|]+)\|([^|]+)\|", body, re.MULTILINE)
        yield name, dict(cells)


def _price(region: str, name: str, figure: tuple[float, str], saving: int | None) -> Mapping[str, object]:
    on_demand, source = figure
    return table.price(
        region, name, on_demand, None if saving is None else on_demand * (100 - saving) / 100, source, "a"
    )


def _savings(text: str) -> Mapping[tuple[str, str], int]:
    """Average spot discount of a month in percent, by region and machine."""
    return {
        (region, name): saving["s"]
        for region, by_system in json.loads(text)["spot_advisor"].items()
        for name, saving in by_system.get("Linux", {}).items()
        if 0 < saving["s"] < 100
    }


def _openshift(text: str, regions: str) -> Mapping[tuple[str, str], tuple[float, str]]:
    """Prices of machines without GPUs, which have not changed since. Those of P4 have; a newer list has them."""
    codes = {region["full_name"]: region["code"] for region in json.loads(regions)}
    return {
        (codes[region], name): (float(figure), "o")
        for name, region, figure in _OPENSHIFT_LINE.findall(text)
        if region in codes and name.split(".")[0] in _CPU_FAMILIES
    }


def _day(text: str) -> str:
    return datetime.fromtimestamp(json.loads(text)["last_updated"], UTC).date().isoformat()


def _karpenter(text: str, key: str = "k") -> Mapping[tuple[str, str], tuple[float, str]]:
    found: dict[tuple[str, str], tuple[float, str]] = {}
    for section in re.split(r"\n\t\"(?=[a-z]+-(?:gov-)?[a-z]+-\d\": \{)", text)[1:]:
        region = section.split('"', 1)[0]
        for name, figure in re.findall(r'"([a-z0-9-]+\.[a-z0-9-]+)": ([0-9.]+)', section):
            found[region, name] = float(figure), key
    return found


def _prices(text: str) -> Mapping[tuple[str, str], tuple[float, str]]:
    listing: list[dict[str, Any]] = json.loads(text[text.index("[") : text.rindex("]") + 1])
    return {
        (region, entry["name"]): (float(figures["onDemand"]), "l")
        for entry in listing
        for region, figures in entry["pricing"].items()
        # Without local zones and Wavelength zones, where EKS has no managed node groups.
        if _REGION.fullmatch(region)
    }


def _exceptions(text: str) -> Mapping[str, list[str]]:
    """Regions whose zones are not a, b and c, and some others."""
    found: dict[str, list[str]] = {}
    for region, zone in re.findall(r'region_name="([a-z0-9-]+)",\s*name="([a-z0-9-]+)"', text):
        if not region.startswith("cn-"):
            found.setdefault(region, []).append(zone)
    return found


def _zones(text: str) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for zone in re.findall(r'"([a-z0-9-]+)"', text.split("var awsZones", 1)[1].split("\n}", 1)[0]):
        if not zone.startswith("cn-"):
            found.setdefault(zone[:-1], []).append(zone)
    return found


def _search(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if not found:
        raise ValueError(f"the snapshot has changed: no {pattern!r} in it")
    return found[1]
