"""What Azure cannot do with a volume is told in one line, before anything is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tensorplane.components.volumes.snapshots import netapp_policy
from tests.support.volume_problems import lines
from tests.unit.volumes.clouds.azure_volumes import (
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
    assert netapp_policy.schedule(schedule) == netapp_policy.Schedule(rhythm, times)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "schedule", ["*/5 * * * *", "0 */6 * * *", "0 3 1 * mon", "0 3 * 6 *", "0 * 1 * *", "* * * * *", "0,30 3 * * *"]
)
def test_a_schedule_that_netapp_has_not(schedule: str) -> None:
    assert netapp_policy.schedule(schedule) is None


def problems(volume: dict[str, Any], cluster: Mapping[str, Any] = AKS) -> list[str]:
    found = lines(cluster=dict(cluster), models=volume)
    return [line.removeprefix("models.") for line in found if line.startswith("models.")]


@pytest.mark.parametrize(
    ("volume", "line"),
    [
        ({**FILES, "sizeGib": 50}, "sizeGib: invalid size 50 for Premium_LRS; use 100 to 102,400 GiB (nearest:"),
        ({**FILES, "sizeGib": 200000}, "sizeGib: invalid size 200000 for Premium_LRS; use 100 to 102,400 GiB"),
        ({**FILES, "sizeGib": 20}, "sizeGib: invalid size 20 for backend azureFiles; use 32 to 262,144 GiB"),
        (backend(FILES, iops=4000), "backend.iops: is not configurable for Premium_LRS, where it follows from the"),
        (backend(FILES, privateDnsZone="x"), "backend.privateDnsZone: 'x' is not a valid resource id; use"),
        ({**FILES, "from": {"volume": "scratch"}}, "from.volume: backend azureFiles does not support clones; use"),
        ({**FILES, "placement": {"zones": ["1"]}}, "placement: backend azureFiles does not support placement; use"),
        (backend(DISK, iops=4000), "backend.iops: is not configurable for Premium_LRS, where it follows from the"),
        (backend(DISK, sku="PremiumV2_LRS", iops=6000), "backend.iops: 6000 exceeds the limit for 10 GiB; set 5000"),
        (backend(DISK, sku="PremiumV2_LRS", throughputMib=800),
         "backend.throughputMib: 800 exceeds the limit for 3000 IOPS; set 750 or less"),
        ({**DISK, "sizeGib": 40000}, "sizeGib: 40000 GiB exceeds the largest Premium_LRS disk; set 32,767 or less,"),
        ({**DISK, "accessModes": ["ReadWriteMany"]}, "accessModes: backend azureDisk does not support"),
        ({**DISK, "placement": {"zones": ["westeurope-1"]}},
         "placement.zones: westeurope-1 is not a zone of the cluster; choose one of 1, 2, 3"),
        (backend(DISK, encryptionSet=SUBNET), "backend.encryptionSet:"),
        ({**NETAPP, "sizeGib": 40}, "sizeGib: invalid size 40 for backend netappFiles; use 50 to 102,400 GiB"),
        ({**NETAPP, "snapshots": {"schedule": "*/5 * * * *"}},
         "snapshots.schedule: a snapshot policy of NetApp Files cannot run at '*/5 * * * *'; use hourly (0 * *"),
        ({**NETAPP, "snapshots": {**HOURLY, "expire": "7d"}},
         "snapshots.expire: is set, but a snapshot policy of NetApp Files keeps snapshots by number only;"),
        ({**NETAPP, "snapshots": {**HOURLY, "keep": 300}},
         "snapshots.keep: 300 exceeds the 255 snapshots of a NetApp volume; set 255 or less"),
        ({**NETAPP, "mirror": {"to": {"region": "northeurope"}}},
         "backend.mirrorSubnet: missing, but the mirror requires it; set a subnet there that is delegated to"),
        (backend(NETAPP, mirrorSubnet=SUBNET), "backend.mirrorSubnet: is set, but the volume has no mirror in"),
        (
            {**backend(NETAPP, mirrorSubnet=SUBNET), "mirror": {"to": {"region": "westeurope"}}},
            "mirror.to.region: westeurope is the region of the volume itself; choose another region",
        ),
        (
            {**backend(NETAPP, mirrorSubnet=SUBNET), "mirror": {"to": {"region": "northeurope"}, "every": "15m"}},
            "mirror.every: invalid interval 15m for NetApp Files; use 10m, 1h or 1d (nearest: 10m)",
        ),
        ({**NETAPP, "from": {"snapshot": "daily-1"}}, "from.snapshot: 'daily-1' is not a valid resource id; use"),
        ({**NETAPP, "from": {"snapshot": SNAPSHOT % "ultra"}},
         "from.snapshot: the snapshot is in pool ultra of account tensorplane-dev, but a volume restores from"),
        ({**NETAPP, "cache": {"sizeGib": 1}}, "cache: backend netappFiles does not support a cache; use juicefs"),
        (backend(NETAPP, allowedCidrs=["10.0.0.1/8"]), "backend.allowedCidrs.0: invalid value '10.0.0.1/8'; use "
         "IPv4 addr"),
        ({**LUSTRE, "sizeGib": 20000}, "sizeGib: invalid size 20000 (19.5312 TiB) at 125 MB/s per TiB; use 16 to"),
        (backend({**LUSTRE, "sizeGib": 8192}, mbpsPerTib=40),
         "sizeGib: invalid size 8192 (8 TiB) at 40 MB/s per TiB; use 48 to 12,800 TiB in steps of 48 (nearest:"),
        ({**LUSTRE, "sizeGib": 100}, "sizeGib: invalid size 100 for backend azureLustre; use 4,096 GiB or more"),
        ({**LUSTRE, "snapshots": HOURLY}, "snapshots: backend azureLustre does not support snapshots; use"),
        ({**LUSTRE, "placement": {"zones": ["1", "2"]}},
         "placement.zones: lists 2 zones, but this backend uses 1; list 1"),
        (
            backend(LUSTRE, blob={"container": f"{CONTAINERS}/a", "loggingContainer": f"{CONTAINERS}/a"}),
            "backend.blob.loggingContainer: is container a of account a; use a container of account a other than a",
        ),
        (
            backend(
                LUSTRE,
                blob={"container": f"{CONTAINERS}/a", "loggingContainer": f"{CONTAINERS}/b", "importPrefixes": ["x"]},
            ),
            "backend.blob.importPrefixes.0: invalid value 'x'; use a folder of the container",
        ),
        (backend(LUSTRE, key={"vault": "x", "url": "y", "identity": IDENTITY}),
         "backend.key.vault: 'x' is not a valid resource id; use"),
    ],
)  # fmt: skip
def test_what_azure_cannot_do_is_one_line(volume: dict[str, Any], line: str) -> None:
    (found,) = problems(volume)
    assert found.startswith(line)


@pytest.mark.parametrize(
    ("volume", "found"),
    [
        (NETAPP, ["backend.subnet: missing, but the nodes", "backend.allowedCidrs: missing, but the nodes"]),
        (LUSTRE, ["backend.subnet: missing, but the nodes"]),
        (FILES, []),
    ],
)
def test_in_a_network_of_yours_storage_is_told_where_it_may_be(volume: dict[str, Any], found: list[str]) -> None:
    lines_ = problems(volume, OWN)
    assert len(lines_) == len(found)
    assert all(line.startswith(start) for line, start in zip(lines_, found, strict=True))


def test_lustre_is_as_large_as_its_part_of_the_network_lets_it_be() -> None:
    (line,) = problems({**LUSTRE, "sizeGib": 49152}, {**AKS, "network": {"cidr": "10.0.0.0/24"}})
    assert line.startswith("sizeGib: 49152 GiB exceeds the 40 TiB that fit into 10.0.0.128/26, the Lustre subnet of")


def test_a_clone_has_the_service_level_of_its_origin() -> None:
    tree: dict[str, Any] = {"cluster": AKS, "models": backend(NETAPP, serviceLevel="ultra")}
    found = lines(**tree, copy={**NETAPP, "from": {"volume": "models"}})
    assert any(line.startswith("copy.backend: volume models has another backend") for line in found)


def test_backends_of_azure_need_a_cluster_there() -> None:
    found = problems(FILES, {"kind": "eks", "region": "us-west-2", "endpoint": {"deployFromInside": True}})
    assert found == ["backend: azureFiles requires cluster kind aks, but the cluster is eks; use another backend"]
