"""Google Cloud: machines and zones from a price calculator's lists, prices by region from a Karpenter provider."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tensorplane.components.catalog.update import table
from tensorplane.components.catalog.update.snapshot import Snapshot
from tensorplane.components.catalog.update.table import MachineLine, Source

_TYPES = "tools/machinetypes.csv"
_ZONES = "tools/zones.csv"
_PRICES = "pkg/providers/pricing/initial-prices.json"
_ACCELERATORS = Path(__file__).with_name("gke_accelerators.csv")
_IMAGE = "COS_CONTAINERD"

_CPU_FAMILIES = table.words("e2 n1 n2 n2d n4 n4d n4a c2 c2d c3 c3d c4 c4a c4d t2d t2a")
_HIGH_CPU = table.words("e2 n1 n2 n2d n4 c3 c4 c4a c4d")
_ARM = ("t2a-", "c4a-", "n4a-", "a4x-")
_SHAPE = re.compile(r"(?P<family>[a-z0-9]+)-(?P<shape>standard|highmem|highcpu)-\d+")
# Accelerator of a machine family, with Google's name, and its GPUDirect variant.
_BUILT_IN = {
    "a2-highgpu": ("a100-40gb", "nvidia-tesla-a100", ""),
    "a2-megagpu": ("a100-40gb", "nvidia-tesla-a100", ""),
    "a2-ultragpu": ("a100-80gb", "nvidia-a100-80gb", ""),
    "a3-highgpu": ("h100-80gb", "nvidia-h100-80gb", "TCPX"),
    "a3-megagpu": ("h100-80gb", "nvidia-h100-mega-80gb", "TCPXO"),
    "a3-ultragpu": ("h200", "nvidia-h200-141gb", "RDMA"),
    "a4-highgpu": ("b200", "nvidia-b200", "RDMA"),
    "a4x-highgpu": ("gb200", "nvidia-gb200", "RDMA"),
}
_BUILT_IN_COUNT = re.compile(r"(?P<family>[a-z0-9]+-[a-z]+)-(?P<count>\d+)g")
_G2 = {4: 1, 8: 1, 12: 1, 16: 1, 32: 1, 24: 2, 48: 4, 96: 8}
# Machines with less than 48 vCPUs have a fractional GPU.
_G4 = {48: 1, 96: 2, 192: 4, 384: 8}
# N1 machines to which accelerators are attached: useful numbers of vCPUs within Google's limits for each count.
_ATTACHED: Mapping[tuple[str, str], Mapping[int, tuple[int, ...]]] = {
    ("t4", "nvidia-tesla-t4"): {1: (4, 8, 16, 32), 2: (8, 16, 32), 4: (16, 32, 64, 96)},
    ("p4", "nvidia-tesla-p4"): {1: (4, 8, 16), 2: (8, 16, 32), 4: (16, 32, 64, 96)},
    ("v100", "nvidia-tesla-v100"): {1: (4, 8), 2: (8, 16), 4: (16, 32), 8: (32, 64, 96)},
    ("p100", "nvidia-tesla-p100"): {1: (4, 8, 16), 2: (8, 16, 32), 4: (16, 32, 64)},
}
_TPUS = {
    "ct3-hightpu-4t": ("tpu-v3", 4, "tpu-v3-device", "2x2"),
    "ct4p-hightpu-4t": ("tpu-v4", 4, "tpu-v4-podslice", "2x2x1"),
    "ct5lp-hightpu-1t": ("tpu-v5e", 1, "tpu-v5-lite-podslice", "1x1"),
    "ct5lp-hightpu-4t": ("tpu-v5e", 4, "tpu-v5-lite-podslice", "2x2"),
    "ct5lp-hightpu-8t": ("tpu-v5e", 8, "tpu-v5-lite-podslice", "2x4"),
    "ct5p-hightpu-4t": ("tpu-v5p", 4, "tpu-v5p-slice", "2x2x1"),
    "ct6e-standard-1t": ("tpu-v6e", 1, "tpu-v6e-slice", "1x1"),
    "ct6e-standard-4t": ("tpu-v6e", 4, "tpu-v6e-slice", "2x2"),
    "ct6e-standard-8t": ("tpu-v6e", 8, "tpu-v6e-slice", "2x4"),
    "tpu7x-standard-4t": ("tpu-7x", 4, "tpu7x", "2x2x1"),
}
# Machines that the list of types lacks: vCPUs and GiB.
_MORE = {"ct4p-hightpu-4t": (240, 400.0)}
_SKYPILOT = "skypilot-org/skypilot@1.0.0.dev20261027"
_SOURCE_OF_MORE = Source("s", "2026-10-27", f"{_SKYPILOT} sky/clouds/gcp.py")
_TOOLKIT = "GoogleCloudPlatform/cluster-toolkit@1047080 gpu-definition, tpu-definition"
_STILL_SPREADING = ("tpu-v6e", "tpu-7x", "tpu-v3")


def update(snapshots: Path, out: Path) -> None:
    """Writes the files of GKE."""
    calculator = Snapshot.find(snapshots, "Cyclenerd/google-cloud-pricing-cost-calculator")
    karpenter = Snapshot.find(snapshots, "cloudpilot-ai/karpenter-provider-gcp")
    prices: dict[str, dict[str, dict[str, float]]] = json.loads(karpenter.text(_PRICES))["prices"]
    priced = {name for region in prices.values() for name in region["on_demand"]}
    sizes = {
        name: size for name, size in _sizes(calculator.text(_TYPES)) if name in priced or not _SHAPE.fullmatch(name)
    }
    machines = list(_machines(sizes))
    day, name = calculator.day(_TYPES), calculator.source(_TYPES)
    types = [
        Source("t", day, name),
        Source("g", day, f"{name}; {_TOOLKIT}"),
        Source("n", day, f"{name}; {_TOOLKIT}; {_SKYPILOT} sky/catalog/gcp_catalog.py"),
        _SOURCE_OF_MORE,
    ]
    lines_of_machines = (line.fields() for line in machines)
    table.write(out / "machines.csv", "Machines of GKE.", table.MACHINES, types, lines_of_machines)
    lines = [
        table.price(region, name, kinds["on_demand"][name], kinds.get("spot", {}).get(name), "k")
        for region, kinds in sorted(prices.items())
        for name in dict.fromkeys(line.name for line in machines)
        if name in kinds["on_demand"]
    ]
    source = Source("k", karpenter.day(_PRICES), karpenter.source(_PRICES))
    table.write(
        out / "prices.csv", "Machines without what is added to them, USD per hour.", table.PRICES, [source], lines
    )
    zones = Source("z", calculator.day(_ZONES), calculator.source(_ZONES))
    cells = list(_regions(calculator.text(_ZONES), prices))
    table.write(out / "regions.csv", "Regions of Google Cloud and their zones.", table.REGIONS, [zones], cells)
    (out / "accelerators.csv").write_text(_ACCELERATORS.read_text(encoding="utf-8"), encoding="utf-8")


def _sizes(text: str) -> Iterator[tuple[str, tuple[int, float]]]:
    for line in csv.DictReader(text.splitlines(), delimiter=";"):
        if not line["DEPRECATED"]:
            yield line["NAME"], (int(line["CPUS"]), float(line["MEMORY_GB"]))


def _machines(sizes: Mapping[str, tuple[int, float]]) -> Iterator[MachineLine]:
    """Plain machines, then those with GPUs, N1 with attached GPUs, and TPUs."""
    order = sorted(sizes, key=lambda name: (name.rpartition("-")[0], sizes[name]))
    for name in order:
        shape = _SHAPE.fullmatch(name)
        if shape and shape["family"] in (_HIGH_CPU if shape["shape"] == "highcpu" else _CPU_FAMILIES):
            yield _line(name, sizes, regions="all")
    for name in order:
        yield from _with_gpus(name, sizes)
    yield from _attached(sizes)
    for name, (accelerator, count, label, topology) in _TPUS.items():
        yield _line(
            name,
            {**_MORE, **sizes},
            accelerator=accelerator,
            count=count,
            cloud_accelerator=label,
            topology=topology,
            regions="" if accelerator in _STILL_SPREADING else "all",
            source="g" if name in sizes else _SOURCE_OF_MORE.key,
        )


def _attached(sizes: Mapping[str, tuple[int, float]]) -> Iterator[MachineLine]:
    for (accelerator, spelt), by_count in _ATTACHED.items():
        for count, allowed in by_count.items():
            for name in (f"{family}-{vcpus}" for family in ("n1-standard", "n1-highmem") for vcpus in allowed):
                yield _line(name, sizes, accelerator, count, spelt, attached=True, regions="all", source="n")


def _with_gpus(name: str, sizes: Mapping[str, tuple[int, float]]) -> Iterator[MachineLine]:
    vcpus = sizes[name][0]
    if name.startswith("g2-standard-"):
        yield _line(name, sizes, "l4", _G2[vcpus], "nvidia-l4", regions="all")
    elif name.startswith("g4-standard-") and vcpus in _G4:
        yield _line(name, sizes, "rtx-pro-6000", _G4[vcpus], "nvidia-rtx-pro-6000", regions="all")
    elif (shape := _BUILT_IN_COUNT.fullmatch(name)) and shape["family"] in _BUILT_IN:
        accelerator, spelt, gpudirect = _BUILT_IN[shape["family"]]
        count = int(shape["count"])
        # Smaller ones share the host's network.
        gpudirect = gpudirect if count == 8 or accelerator == "gb200" else ""
        # The newest have no on-demand price, only for a term or as spot.
        regions = "" if shape["family"] in ("a3-ultragpu", "a4-highgpu", "a4x-highgpu") else "all"
        yield _line(name, sizes, accelerator, count, spelt, gpudirect=gpudirect, regions=regions)


def _line(
    name: str,
    sizes: Mapping[str, tuple[int, float]],
    accelerator: str = "",
    count: int = 0,
    cloud_accelerator: str = "",
    *,
    attached: bool = False,
    gpudirect: str = "",
    topology: str = "",
    regions: str = "",
    source: str = "",
) -> MachineLine:
    vcpus, memory_gib = sizes[name]
    return MachineLine(
        name=name,
        vcpus=vcpus,
        memory_gib=memory_gib,
        source=source or ("g" if accelerator else "t"),
        image=_IMAGE,
        arch="arm64" if name.startswith(_ARM) else "amd64",
        accelerator=accelerator,
        count=count,
        cloud_accelerator=cloud_accelerator,
        attached=attached,
        gpudirect=gpudirect,
        topology=topology,
        regions=regions,
    )


def _regions(text: str, priced: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    # The list of zones omits a region that only has TPUs.
    zones: dict[str, list[str]] = {"us-central2": ["us-central2-b"]}
    for line in csv.DictReader(text.splitlines(), delimiter=";"):
        zones.setdefault(line["REGION"], []).append(line["NAME"])
    # Accelerators are also in regions without plain machines at list price.
    with _ACCELERATORS.open(encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        found = {*priced, *(row["region"] for row in rows)}
    for region in sorted(found):
        yield {"region": region, "zones": " ".join(sorted(zones.get(region, []))), "source": "z"}
