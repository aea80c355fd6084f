"""What Azure cannot do with a volume is told in one line, before anything is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from components.volume.clouds import netapp_schedule
from tests.unit.azure_volumes import (
    AKS,
    CONTAINERS,
    DISK,
    FILES,
    HOURLY,
    IDENTITY,
    LUSTRE,
    NETAPP,
    OWN,
    SNAPSHOT,
    SUBNET,
    backend,
)
from tests.unit.test_volume_settings import lines


@pytest.mark.parametrize(
    ("schedule", "rhythm", "times"),
    [
        ("15 * * * *", "hourly", {"minute": 15}),
        ("30 3 * * *", "daily", {"hour": 3, "minute": 30}),
        ("0 4 * * mon,4", "weekly", {"hour": 4, "minute": 0, "day": "Monday,Thursday"}),
        ("0 4 1,15 * *", "monthly", {"hour": 4, "minute": 0, "days_of_month": "1,15"}),
        ("0 4 * * 0-6", "daily", {"hour": 4, "minute": 0}),
        ("0 0 * * 0", "weekly", {"hour": 0, "minute": 0, "day": "Sunday"}),
    ],
)
def test_a_schedule_in_the_words_of_netapp(schedule: str, rhythm: str, times: dict[str, Any]) -> None:
    assert netapp_schedule.schedule(schedule) == netapp_schedule.Schedule(rhythm, times)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "schedule", ["*/5 * * * *", "0 */6 * * *", "0 3 1 * mon", "0 3 * 6 *", "0 * 1 * *", "* * * * *", "0,30 3 * * *"]
)
def test_a_schedule_that_netapp_has_not(schedule: str) -> None:
    assert netapp_schedule.schedule(schedule) is None


def wrong(volume: dict[str, Any], cluster: Mapping[str, Any] = AKS) -> list[str]:
    found = lines(cluster=dict(cluster), models=volume)
    return [line.removeprefix("models.") for line in found if line.startswith("models.")]


@pytest.mark.parametrize(
    ("volume", "line"),
    [
        ({**FILES, "sizeGib": 50}, "sizeGib: got 50, a Premium_LRS has 100 to 102,400 GiB (nearest: 100), and "),
        ({**FILES, "sizeGib": 200000}, "sizeGib: got 200000, a Premium_LRS has 100 to 102,400 GiB (nearest: 102,400)"),
        ({**FILES, "sizeGib": 20}, "sizeGib: got 20, backend azureFiles has 32 to 262,144 GiB"),
        (backend(FILES, iops=4000), "backend.iops: given, and that of a Premium_LRS follows from its size: need"),
        (backend(FILES, privateDnsZone="x"), "backend.privateDnsZone: got 'x', need a resource id: /subscr"),
        ({**FILES, "from": {"volume": "scratch"}}, "from.volume: backend azureFiles has no clones; "),
        ({**FILES, "placement": {"zones": ["1"]}}, "placement: backend azureFiles has no placement; "),
        (backend(DISK, iops=4000), "backend.iops: given, and that of a Premium_LRS follows from its size: need sku"),
        (backend(DISK, sku="PremiumV2_LRS", iops=6000), "backend.iops: got 6000, at most 5000 with 10 GiB"),
        (backend(DISK, sku="PremiumV2_LRS", throughputMib=800), "backend.throughputMib: got 800, at most 750 with"),
        ({**DISK, "sizeGib": 40000}, "sizeGib: got 40000, a Premium_LRS has at most 32,767 GiB: need less, or sku Pre"),
        ({**DISK, "accessModes": ["ReadWriteMany"]}, "accessModes: backend azureDisk has no ReadWriteMany; "),
        ({**DISK, "placement": {"zones": ["westeurope-1"]}}, "placement.zones: got westeurope-1, the cluster is in 1,"),
        (backend(DISK, encryptionSet=SUBNET), "backend.encryptionSet: got '/subscriptions"),
        ({**NETAPP, "sizeGib": 40}, "sizeGib: got 40, backend netappFiles has 50 to 102,400 GiB"),
        ({**NETAPP, "snapshots": {"schedule": "*/5 * * * *"}}, "snapshots.schedule: got '*/5 * * * *', a snapshot p"),
        ({**NETAPP, "snapshots": {**HOURLY, "expire": "7d"}}, "snapshots.expire: given, and a snapshot policy keeps"),
        ({**NETAPP, "snapshots": {**HOURLY, "keep": 300}}, "snapshots.keep: got 300, a volume has at most 255"),
        ({**NETAPP, "mirror": {"to": {"region": "northeurope"}}}, "backend.mirrorSubnet: missing, and the mirror ne"),
        (backend(NETAPP, mirrorSubnet=SUBNET), "backend.mirrorSubnet: given, and the volume has no mirror"),
        (
            {**backend(NETAPP, mirrorSubnet=SUBNET), "mirror": {"to": {"region": "westeurope"}}},
            "mirror.to.region: got westeurope, where the volume is itself",
        ),
        (
            {**backend(NETAPP, mirrorSubnet=SUBNET), "mirror": {"to": {"region": "northeurope"}, "every": "15m"}},
            "mirror.every: got 15m, NetApp Files copies every 10m, 1h or 1d (nearest: 10m)",
        ),
        ({**NETAPP, "from": {"snapshot": "daily-1"}}, "from.snapshot: got 'daily-1', need a resource id: /subscripti"),
        ({**NETAPP, "from": {"snapshot": SNAPSHOT % "ultra"}}, "from.snapshot: got one of pool ultra in account tens"),
        ({**NETAPP, "cache": {"sizeGib": 1}}, "cache: backend netappFiles has no cache; "),
        (backend(NETAPP, allowedCidrs=["10.0.0.1/8"]), "backend.allowedCidrs.0: got '10.0.0.1/8', need IPv4 addr"),
        ({**LUSTRE, "sizeGib": 20000}, "sizeGib: got 20000 (19.5312 TiB), 125 MB/s for each TiB has 16 to 4,096 TiB"),
        (backend({**LUSTRE, "sizeGib": 8192}, mbpsPerTib=40), "sizeGib: got 8192 (8 TiB), 40 MB/s for each TiB"),
        ({**LUSTRE, "sizeGib": 100}, "sizeGib: got 100, backend azureLustre has 4,096 GiB and more"),
        ({**LUSTRE, "snapshots": HOURLY}, "snapshots: backend azureLustre has no snapshots; "),
        ({**LUSTRE, "placement": {"zones": ["1", "2"]}}, "placement.zones: got 2 zones, this backend is in 1"),
        (
            backend(LUSTRE, blob={"container": f"{CONTAINERS}/a", "loggingContainer": f"{CONTAINERS}/a"}),
            "backend.blob.loggingContainer: got container a of account a, need another one",
        ),
        (
            backend(
                LUSTRE,
                blob={"container": f"{CONTAINERS}/a", "loggingContainer": f"{CONTAINERS}/b", "importPrefixes": ["x"]},
            ),
            "backend.blob.importPrefixes.0: got 'x', need a folder of the container",
        ),
        (backend(LUSTRE, key={"vault": "x", "url": "y", "identity": IDENTITY}), "backend.key.vault: got 'x', need a"),
    ],
)  # fmt: skip
def test_what_azure_cannot_do_is_one_line(volume: dict[str, Any], line: str) -> None:
    (found,) = wrong(volume)
    assert found.startswith(line)


@pytest.mark.parametrize(
    ("volume", "found"),
    [
        (NETAPP, ["backend.subnet: missing, and the nodes", "backend.allowedCidrs: missing, and the nodes"]),
        (LUSTRE, ["backend.subnet: missing, and the nodes"]),
        (FILES, []),
    ],
)
def test_in_a_network_of_yours_storage_is_told_where_it_may_be(volume: dict[str, Any], found: list[str]) -> None:
    lines_ = wrong(volume, OWN)
    assert len(lines_) == len(found)
    assert all(line.startswith(start) for line, start in zip(lines_, found, strict=True))


def test_lustre_is_as_large_as_its_part_of_the_network_lets_it_be() -> None:
    (line,) = wrong({**LUSTRE, "sizeGib": 49152}, {**AKS, "network": {"cidr": "10.0.0.0/24"}})
    assert line.startswith("sizeGib: got 49152, and 10.0.0.0/24 leaves 10.0.0.128/26 to Lustre, enough for 40 TiB")


def test_a_clone_has_the_service_level_of_its_origin() -> None:
    tree: dict[str, Any] = {"cluster": AKS, "models": backend(NETAPP, serviceLevel="ultra")}
    found = lines(**tree, copy={**NETAPP, "from": {"volume": "models"}})
    assert any(line.startswith("copy.backend: volume models has another backend") for line in found)


def test_backends_of_azure_need_a_cluster_there() -> None:
    found = wrong(FILES, {"kind": "eks", "region": "us-west-2", "endpoint": {"deployFromInside": True}})
    assert found == ["backend: got azureFiles on cluster kind eks, it needs cluster kind aks"]
