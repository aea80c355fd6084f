"""Azure: sizes that AKS supports from Aspire's generated list, prices by region from Karpenter's provider for Azure.

Spot prices are from a catalog in SkyPilot's format.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tensorplane.components.catalog.update import table
from tensorplane.components.catalog.update.snapshot import Snapshot
from tensorplane.components.catalog.update.table import MachineLine, Source

_SIZES = "src/Aspire.Hosting.Azure.Kubernetes/AksNodeVmSizes.Generated.cs"
_PRICES = "pkg/providers/pricing/zz_generated.pricing.go"
_SPOT = "azure/vms.csv"
_LINE = re.compile(r"/// (Standard_\w+) — (\d+) vCPUs — ([\d.]+) GB RAM")
# s: premium disks, a: AMD, d: local disk, l: less memory, p: Arm.
_CPU = re.compile(
    r"Standard_(D\d+(s|ds|as|ads|ps|pds)_v[56]|E\d+(s|as|ps)_v[56]|E\d+(ds|ads)_v5|D\d+s_v[34]|E\d+s_v3|F\d+(s_v2|as_v6)"
    r"|L\d+s_v3|B\d+(s|as|ps)_v2|DS\d_v2)"
)
_IMAGE = "Ubuntu"
_AGREEING = 0.005
# Without fractional GPUs (A10 up to 18 vCPUs, RTX PRO 6000 up to 72) and AMD's GPUs.
_GPUS: Mapping[str, tuple[str, int]] = {
    "Standard_NC4as_T4_v3": ("t4", 1),
    "Standard_NC8as_T4_v3": ("t4", 1),
    "Standard_NC16as_T4_v3": ("t4", 1),
    "Standard_NC64as_T4_v3": ("t4", 4),
    "Standard_ND40rs_v2": ("v100-32gb", 8),
    "Standard_NV36ads_A10_v5": ("a10", 1),
    "Standard_NV36adms_A10_v5": ("a10", 1),
    "Standard_NV72ads_A10_v5": ("a10", 2),
    "Standard_ND96asr_v4": ("a100-40gb", 8),
    "Standard_NC24ads_A100_v4": ("a100-80gb", 1),
    "Standard_NC48ads_A100_v4": ("a100-80gb", 2),
    "Standard_NC96ads_A100_v4": ("a100-80gb", 4),
    "Standard_ND96amsr_A100_v4": ("a100-80gb", 8),
    "Standard_NC40ads_H100_v5": ("h100-nvl", 1),
    "Standard_NC80adis_H100_v5": ("h100-nvl", 2),
    "Standard_ND96isr_H100_v5": ("h100-80gb", 8),
    "Standard_ND96isr_H200_v5": ("h200", 8),
    "Standard_NC144lds_xl_RTXPRO6000BSE_v6": ("rtx-pro-6000", 1),
    "Standard_NC144ds_xl_RTXPRO6000BSE_v6": ("rtx-pro-6000", 1),
    "Standard_NC288lds_xl_RTXPRO6000BSE_v6": ("rtx-pro-6000", 2),
    "Standard_NC288ds_xl_RTXPRO6000BSE_v6": ("rtx-pro-6000", 2),
    "Standard_ND128isr_NDR_GB200_v6": ("gb200", 4),
    "Standard_ND128isr_GB300_v6": ("gb300", 4),
}
# Sizes that the list lacks, from Azure's own pages.
_MORE = {"Standard_ND128isr_NDR_GB200_v6": (128, 900.0), "Standard_ND128isr_GB300_v6": (128, 864.0)}
_PAGES = Source(
    "d", "2026-08-12", "MicrosoftDocs/azure-compute-docs nd-gb200-v6-series.md@2bc777f nd-gb300-v6-series.md@0c72655"
)
_ZONAL = Source("r", "2025-03-21", "MicrosoftDocs/azure-docs@04495fc articles/reliability/regions-list.md")
_THREE_ZONES = table.words(
    "australiaeast brazilsouth canadacentral centralindia centralus eastasia eastus eastus2 francecentral"
    " germanywestcentral indonesiacentral israelcentral italynorth japaneast japanwest koreacentral mexicocentral"
    " newzealandnorth northeurope norwayeast polandcentral qatarcentral southafricanorth southcentralus southeastasia"
    " spaincentral swedencentral switzerlandnorth uaenorth uksouth westeurope westus2 westus3"
)


def update(snapshots: Path, out: Path) -> None:
    """Writes the files of AKS."""
    aspire = Snapshot.find(snapshots, "microsoft/aspire")
    karpenter = Snapshot.find(snapshots, "Azure/karpenter-provider-azure")
    anycloud = Snapshot.find(snapshots, "anycloud-sh/catalog")
    go = karpenter.text(_PRICES)
    prices = dict(_prices(go))
    priced = {name for by_name in prices.values() for name in by_name}
    machines = sorted(_machines(aspire.text(_SIZES), priced), key=_order)
    sizes = Source("a", aspire.day(_SIZES), aspire.source(_SIZES))
    table.write(
        out / "machines.csv", "Machines of AKS.", table.MACHINES, [sizes, _PAGES], (line.fields() for line in machines)
    )
    spot_prices = _spot_prices(anycloud.text(_SPOT))
    lines = [
        table.price(
            region, line.name, by_name[line.name], _spot(by_name[line.name], spot_prices, region, line.name), "k", "c"
        )
        for region, by_name in sorted(prices.items())
        for line in machines
        if line.name in by_name
    ]
    found = re.search(r"generated at (\S{10})", go)
    source = Source("k", found[1] if found else karpenter.day(_PRICES), karpenter.source(_PRICES))
    of_spot = Source("c", anycloud.day(_SPOT), anycloud.source(_SPOT))
    table.write(out / "prices.csv", "Linux, USD per hour.", table.PRICES_OF_TWO_SOURCES, [source, of_spot], lines)
    cells = [
        {"region": region, "zones": "1 2 3" if region in _THREE_ZONES else "", "source": "r"}
        for region in sorted(prices)
    ]
    table.write(out / "regions.csv", "Regions of Azure and their zones.", table.REGIONS, [_ZONAL], cells)


def _machines(text: str, priced: set[str]) -> Iterator[MachineLine]:
    documented = {name: (int(vcpus), float(memory)) for name, vcpus, memory in _LINE.findall(text)}
    for name, (vcpus, memory_gib) in {**_MORE, **documented}.items():
        accelerator, count = _GPUS.get(name, ("", 0))
        if not accelerator and (not _CPU.fullmatch(name) or name not in priced):
            continue
        arm = accelerator in ("gb200", "gb300") or bool(re.search(r"\dpd?s_v", name))
        yield MachineLine(
            name=name,
            vcpus=vcpus,
            memory_gib=memory_gib,
            source="a" if name in documented else "d",
            image=_IMAGE,
            arch="arm64" if arm else "amd64",
            accelerator=accelerator,
            count=count,
            # An r in an ND size's letters: InfiniBand.
            gpudirect="RDMA" if re.match(r"Standard_ND\d+[a-z]*r", name) else "",
            regions="all" if name in priced else "",
        )


def _order(line: MachineLine) -> tuple[str, str, int, float]:
    return line.accelerator, re.sub(r"\d+", "", line.name, count=1), line.vcpus, line.memory_gib


def _prices(text: str) -> Iterator[tuple[str, Mapping[str, float]]]:
    for section in text.split('initialOnDemandPrices["')[1:]:
        region = section.split('"', 1)[0]
        yield region, {name: float(figure) for name, figure in re.findall(r'"(\S+)":\s+([0-9.]+)', section)}


def _spot_prices(text: str) -> Mapping[tuple[str, str], tuple[float, float]]:
    """On-demand and spot prices of the other list, by region and size."""
    return {
        (line["Region"], line["InstanceType"]): (float(line["Price"]), float(line["SpotPrice"]))
        for line in csv.DictReader(text.splitlines())
        if line["Price"] and line["SpotPrice"]
    }


def _spot(
    on_demand: float, spot_prices: Mapping[tuple[str, str], tuple[float, float]], region: str, name: str
) -> float | None:
    """The spot price, only if both lists agree on the on-demand price; else they mean different products."""
    other, spot = spot_prices.get((region, name), (0.0, 0.0))
    return spot if abs(other - on_demand) <= _AGREEING * on_demand and 0 < spot < on_demand else None
