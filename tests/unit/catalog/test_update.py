"""What `make catalog-update` reads out of snapshots, on pieces of their files."""

from pathlib import Path

import pytest

from tensorplane.components.catalog import files
from tensorplane.components.catalog.update import __main__ as command
from tensorplane.components.catalog.update import aks, eks, gke, table

TYPES = """
### `g6.xlarge`
#### Labels
 | Label | Value |
 |--|--|
 |karpenter.k8s.aws/instance-cpu|4|
 |karpenter.k8s.aws/instance-gpu-count|1|
 |karpenter.k8s.aws/instance-gpu-name|l4|
 |karpenter.k8s.aws/instance-memory|16384|
 |kubernetes.io/arch|amd64|
### `g6f.xlarge`
 |karpenter.k8s.aws/instance-cpu|4|
 |karpenter.k8s.aws/instance-gpu-count|0|
 |karpenter.k8s.aws/instance-gpu-name|l4|
 |karpenter.k8s.aws/instance-memory|16384|
 |kubernetes.io/arch|amd64|
### `p5.48xlarge`
 |karpenter.k8s.aws/instance-cpu|192|
 |karpenter.k8s.aws/instance-gpu-count|8|
 |karpenter.k8s.aws/instance-gpu-name|h100|
 |karpenter.k8s.aws/instance-memory|2097152|
 |kubernetes.io/arch|amd64|
 |vpc.amazonaws.com/efa|32|
### `m7g.metal`
 |karpenter.k8s.aws/instance-cpu|64|
 |karpenter.k8s.aws/instance-memory|262144|
 |kubernetes.io/arch|arm64|
### `m7g.large`
 |karpenter.k8s.aws/instance-cpu|2|
 |karpenter.k8s.aws/instance-memory|8192|
 |kubernetes.io/arch|arm64|
"""


def test_eks_takes_whole_cards_and_usual_families_and_no_metal() -> None:
    lines = {line.name: line for line in eks._machines(TYPES)}
    assert set(lines) == {"g6.xlarge", "p5.48xlarge", "m7g.large"}
    assert (lines["g6.xlarge"].accelerator, lines["g6.xlarge"].count) == ("l4", 1)
    assert (lines["p5.48xlarge"].efa, lines["p5.48xlarge"].gpudirect) == (32, "RDMA")
    assert lines["m7g.large"].image == "AL2023_ARM_64_STANDARD"


def test_eks_reads_prices_and_zones() -> None:
    go = 'map{\n\t"us-east-1": {\n\t\t"g6.xlarge": 0.804800, "m7i.metal-24xl": 4.838400,\n\t},\n}'
    assert eks._karpenter(go) == {
        ("us-east-1", "g6.xlarge"): (0.8048, "k"),
        ("us-east-1", "m7i.metal-24xl"): (4.8384, "k"),
    }
    pricing = '{"us-west-2": {"onDemand": 0.8048}, "us-west-2-lax-1": {"onDemand": 1}}'
    listing = f'const x = [{{"name": "g6.xlarge", "pricing": {pricing}}}];'
    assert eks._prices(listing) == {("us-west-2", "g6.xlarge"): (0.8048, "l")}
    zones = 'var awsZones = []string{\n\t"eu-west-1a",\n\t"eu-west-1b",\n\t"cn-north-1a",\n}\nvar more = []string{"x"}'
    government = "map{" + "".join(f'\n\t"us-gov-{at}-1": {{\n\t\t"m5.large": 0.121,\n\t}},' for at in ("east", "west"))
    assert eks._karpenter(government, "u") == {(f"us-gov-{at}-1", "m5.large"): (0.121, "u") for at in ("east", "west")}
    assert eks._zones(zones) == {"eu-west-1": ["eu-west-1a", "eu-west-1b"]}


def test_eks_reads_prices_of_other_regions_and_what_spot_saves() -> None:
    sql = (
        "insert into instances (instance, region) values ('EU (Ireland)_m7i.large_Linux','m7i.large','EU (Ireland)',"
        "'Linux',0.1123500000,0.07,0.04,2,'8 GiB');\n"
        "insert into instances (instance, region) values ('EU (Ireland)_p4d.24xlarge_Linux','p4d.24xlarge',"
        "'EU (Ireland)','Linux',35.39655,1,1,96,'1152 GiB');\n"
    )
    regions = '[{"full_name": "EU (Ireland)", "code": "eu-west-1"}]'
    # Of machines with GPUs, prices have fallen since: another list has them.
    assert eks._openshift(sql, regions) == {("eu-west-1", "m7i.large"): (0.11235, "o")}
    assert eks._day('{"last_updated": 1728582946}') == "2024-10-10"
    spot = '{"spot_advisor": {"eu-west-1": {"Linux": {"m7i.large": {"s": 60, "r": 1}, "m5.large": {"s": 0, "r": 1}}}}}'
    assert eks._savings(spot) == {("eu-west-1", "m7i.large"): 60}
    line = eks._price("eu-west-1", "m7i.large", (0.1, "o"), 60)
    assert (line["spot"], line["source"], line["spot_source"]) == ("0.04", "o", "a")
    assert eks._price("eu-west-1", "m5.large", (0.1, "o"), None)["spot_source"] == ""


def test_aks_takes_spot_prices_of_a_list_that_agrees_on_demand() -> None:
    head = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,Generation\n"
    listed = aks._spot_prices(
        f"{head}Standard_D8s_v5,,,8,32,,0.384,0.0711,eastus,V1,V2\nStandard_D2s_v5,,,2,8,,0.096,,eastus,V2\n"
    )
    assert listed == {("eastus", "Standard_D8s_v5"): (0.384, 0.0711)}
    assert aks._spot(0.384, listed, "eastus", "Standard_D8s_v5") == 0.0711
    assert aks._spot(0.5, listed, "eastus", "Standard_D8s_v5") is None
    assert aks._spot(0.384, listed, "westus", "Standard_D8s_v5") is None


def test_gke_takes_gpus_by_family_and_adds_them_to_n1() -> None:
    sizes = {
        f"n1-{shape}-{vcpus}": (vcpus, vcpus * 3.75)
        for shape in ("standard", "highmem")
        for vcpus in (4, 8, 16, 32, 64, 96)
    }
    sizes |= {
        "g4-standard-6": (6, 22.0),
        "g4-standard-48": (48, 180.0),
        "a3-highgpu-8g": (208, 1872.0),
        "a3-highgpu-1g": (26, 234.0),
    }
    sizes |= dict.fromkeys((name for name in gke._TPUS if name not in gke._MORE), (24, 48.0))
    lines = list(gke._machines(sizes))
    by_name = {line.name: line for line in lines}
    assert "g4-standard-6" not in by_name
    assert (by_name["a3-highgpu-8g"].gpudirect, by_name["a3-highgpu-1g"].gpudirect) == ("TCPX", "")
    added = [(line.name, line.count) for line in lines if line.accelerator == "v100" and "standard" in line.name]
    # Google allows at most 12 vCPUs for each V100.
    assert all(int(name.rpartition("-")[2]) <= 12 * count for name, count in added)
    assert {count for _, count in added} == {1, 2, 4, 8}


def test_aks_reads_sizes_and_prices() -> None:
    text = (
        "/// Standard_D8ps_v6 — 8 vCPUs — 32 GB RAM — Premium SSD\n"
        "/// Standard_ND96isr_H100_v5 — 96 vCPUs — 1900 GB RAM — 8 GPU(s) — Premium SSD\n"
        "/// Standard_NV6ads_A10_v5 — 6 vCPUs — 55 GB RAM — 1 GPU(s) — Premium SSD\n"
    )
    lines = {line.name: line for line in aks._machines(text, {"Standard_D8ps_v6"})}
    assert lines["Standard_D8ps_v6"].arch == "arm64"
    assert (lines["Standard_ND96isr_H100_v5"].count, lines["Standard_ND96isr_H100_v5"].gpudirect) == (8, "RDMA")
    assert "Standard_NV6ads_A10_v5" not in lines
    go = 'initialOnDemandPrices["eastus"] = map[string]float64{\n\t"Standard_D8s_v5":   0.384000,\n}'
    assert dict(aks._prices(go)) == {"eastus": {"Standard_D8s_v5": 0.384}}


def test_what_is_written_is_what_the_catalog_reads(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    source = table.Source("k", "2026-07-20", "owner/name@1234567 a file.go")
    lines = [table.price("us-east-1", "m7i.large", 0.1008, None, "k")]
    table.write(path, "Prices.", table.PRICES, [source], lines)
    ((line, sources),) = files.rows(path)
    assert (line["machine"], line["on_demand"], line["spot"]) == ("m7i.large", "0.1008", "")
    assert sources[line["source"]] == ("2026-07-20", "owner/name@1234567 a file.go")


def test_a_missing_snapshot_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["catalog_update", str(tmp_path)])
    assert command.main() == 1
    said = capsys.readouterr().err
    assert said.startswith("no snapshot of microsoft/aspire in ") and said.count("\n") == 1
