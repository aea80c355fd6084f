"""Volumes on GKE, and on an NFS server, as they are registered; what they cannot do is one line."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rendered_files import rendered_file
from tests.support.rendering import PROJECT, Rendered
from tests.support.volume_problems import lines

GKE = {"kind": "gke", "project": "ml", "region": "us-central1"}
FILES = {"kind": "filestore"}
DISK = {"kind": "persistentDisk"}
NFS = {"kind": "nfs", "server": "s"}
OWN = {"network": "n", "subnetwork": "s", "podsRange": "p", "servicesRange": "v"}


def made() -> Rendered:
    return rendered_file(PROJECT / "examples" / "gke-volumes.yaml")


def test_filestore_is_in_the_cluster_s_network_and_its_snapshots_are_backups() -> None:
    found = made().one("StorageClass", "tensorplane-dev-datasets").inputs
    assert found["parameters"] == {"tier": "regional", "network": "tensorplane-dev"}
    assert (found["reclaimPolicy"], found["volumeBindingMode"]) == ("Retain", "WaitForFirstConsumer")
    (snapshots,) = (
        one.inputs
        for one in made().all("VolumeSnapshotClass")
        if one.inputs["driver"] == "filestore.csi.storage.gke.io"
    )
    assert (snapshots["parameters"], snapshots["deletionPolicy"]) == ({"type": "backup"}, "Retain")
    assert made().one("PersistentVolumeClaim", "datasets").inputs["spec"]["accessModes"] == ["ReadWriteMany"]


def test_a_hyperdisk_is_as_fast_as_asked_for_and_in_the_zone_that_is_named() -> None:
    found = made().one("StorageClass", "tensorplane-dev-experiment").inputs
    assert found["parameters"] == {"type": "hyperdisk-balanced", "provisioned-throughput-on-create": "600Mi"}
    (topology,) = found["allowedTopologies"]
    assert topology["matchLabelExpressions"] == [{"key": "topology.gke.io/zone", "values": ["us-central1-a"]}]


def test_a_folder_of_a_server_is_bound_by_its_claim_alone_and_kept() -> None:
    volume = made().one("PersistentVolume", "tensorplane-dev-archive")
    spec = volume.inputs["spec"]
    assert spec["nfs"] == {"server": "nfs.example.org", "path": "/exports/archive"}
    assert spec["claimRef"]["name"] == "archive"
    assert (spec["persistentVolumeReclaimPolicy"], volume.options["protect"]) == ("Retain", True)
    claim = made().one("PersistentVolumeClaim", "archive").inputs["spec"]
    assert (claim["storageClassName"], claim["volumeName"]) == ("", "tensorplane-dev-archive")


def test_a_schedule_for_each_volume_that_asks_for_it() -> None:
    assert [job.name for job in made().all("CronJob")] == ["snapshots-datasets", "snapshots-experiment"]


@pytest.mark.parametrize(
    ("backend", "volume", "line"),
    [
        ({**FILES}, {"sizeGib": 10}, "sizeGib: invalid size 10 for backend filestore; use 1,024 to 102,400 GiB"),
        ({**FILES, "tier": "basicSsd"}, {"sizeGib": 2000},
         "sizeGib: invalid size 2000 for Filestore tier basicSsd; use at least 2,560 GiB"),
        ({**FILES, "tier": "basicHdd"}, {"sizeGib": 70000},
         "sizeGib: invalid size 70000 for Filestore tier basicHdd; use at most 65,433 GiB"),
        ({**FILES, "tier": "basicHdd", "kmsKey": "k"}, {"sizeGib": 2000},
         "backend.kmsKey: is not supported by tier basicHdd; set tier zonal or regional"),
        ({**FILES}, {"sizeGib": 2048, "from": {"volume": "other"}},
         "from.volume: backend filestore does not support clones; use cephfs, ezmeral, persistentDisk or"),
        ({**DISK, "iops": 4000}, {}, "backend.iops: is not configurable for pd-balanced, where it follows from the"),
        ({**DISK, "type": "hyperdisk-balanced"}, {"sizeGib": 3},
         "sizeGib: 3 GiB is too small for hyperdisk-balanced; set 4 or more"),
        ({**DISK, "type": "hyperdisk-balanced", "iops": 3000}, {"sizeGib": 5},
         "backend.iops: is 3000, but IOPS of a hyperdisk-balanced below 6 GiB follow from its size; remove it"),
        ({**DISK}, {"placement": {"zones": ["us-central1-x"]}},
         "placement.zones: us-central1-x is not a zone of the cluster; choose one of us-central1-a,"),
        ({"kind": "ebs"}, {}, "backend: ebs requires cluster kind eks, but the cluster is gke; use another backend"),
        ({**NFS, "folder": "data"}, {}, "backend.folder: invalid value 'data'; use the absolute path of an"),
        ({**NFS, "folder": "/d"}, {"encrypted": True}, "encrypted: backend nfs does not support encryption at"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_one_line(backend: dict[str, Any], volume: dict[str, Any], line: str) -> None:
    found = [text for text in lines(cluster=GKE, models={"backend": backend, **volume}) if text.startswith("models.")]
    assert [text[len("models.") :][: len(line)] for text in found] == [line]


def test_filestore_needs_to_know_a_network_of_yours() -> None:
    cluster = {**GKE, "network": {"existing": OWN}}
    found = lines(cluster=cluster, models={"sizeGib": 2048, "backend": {**FILES}})
    assert [text for text in found if text.startswith("models.backend.network: missing")]
