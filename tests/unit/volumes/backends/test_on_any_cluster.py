"""Volumes of CephFS, JuiceFS and Ezmeral, on any cluster: what their drivers are told, and what they cannot do."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered
from tests.support.volume_problems import EXISTING, HOURLY, lines

CEPH = {"kind": "cephfs"}
JUICE = {"kind": "juicefs", "secret": "juicefs-secret", "secretNamespace": "kube-system"}
FABRIC = {
    "kind": "ezmeral",
    "cluster": "my.cluster.com",
    "cldbHosts": ["cldb1:7222", "cldb2:7222"],
    "restServers": ["api1:8443"],
    "provisionerSecret": "rest",
    "ticketSecret": "ticket",
    "secretNamespace": "mapr",
}


def built(volumes: dict[str, Any]) -> Rendered:
    tree = {"cluster": EXISTING, "volumes": {name: {"sizeGib": 10, **args} for name, args in volumes.items()}}
    return rendered_tree(tree)


@cache
def made() -> Rendered:
    return built(
        {
            "ceph": {"backend": CEPH, "snapshots": HOURLY},
            "other-ceph": {
                "backend": {
                    **CEPH,
                    "clusterId": "rook-two",
                    "fileSystem": "fast",
                    "pool": "fast-data",
                    "kmsId": "vault",
                },
                "encrypted": True,
                "snapshots": HOURLY,
            },
            "juice": {"backend": JUICE, "snapshots": HOURLY, "cache": {"sizeGib": 200}, "quota": True},
            "fabric": {
                "backend": {**FABRIC, "topology": "/data/rack1", "advisoryQuotaGib": 8},
                "snapshots": HOURLY,
                "retain": False,
            },
        }
    )


def class_of(name: str) -> Any:
    return made().one("StorageClass", f"tensorplane-dev-{name}").inputs


def secrets(name: str, namespace: str, *uses: str) -> dict[str, str]:
    keys = [f"csi.storage.k8s.io/{use}-secret" for use in uses]
    return {f"{key}-name": name for key in keys} | {f"{key}-namespace": namespace for key in keys}


def test_cephfs_is_told_what_rook_s_own_class_says() -> None:
    made_by_rook = secrets(
        "rook-csi-cephfs-provisioner", "rook-ceph", "provisioner", "controller-expand", "controller-publish"
    )
    for_nodes = secrets("rook-csi-cephfs-node", "rook-ceph", "node-stage")
    found = class_of("ceph")
    assert found["provisioner"] == "rook-ceph.cephfs.csi.ceph.com"
    assert found["parameters"] == {"clusterID": "rook-ceph", "fsName": "myfs", **made_by_rook, **for_nodes}
    assert (found["reclaimPolicy"], found["allowVolumeExpansion"]) == ("Retain", True)


def test_cephfs_encrypts_with_a_key_that_is_named() -> None:
    found = class_of("other-ceph")["parameters"]
    assert {key: found[key] for key in ("clusterID", "fsName", "pool", "encrypted", "encryptionKMSID")} == {
        "clusterID": "rook-two",
        "fsName": "fast",
        "pool": "fast-data",
        "encrypted": "true",
        "encryptionKMSID": "vault",
    }


def test_each_ceph_cluster_has_a_class_of_snapshots_with_its_own_secret() -> None:
    jobs = {
        name: made().one("CronJob", f"snapshots-{name}").inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        for name in ("ceph", "other-ceph")
    }
    by_name = {one.inputs["metadata"]["name"]: one.inputs for one in made().all("VolumeSnapshotClass")}
    told = {name: by_name[pod["containers"][0]["command"][4]] for name, pod in jobs.items()}
    assert {name: one["parameters"] for name, one in told.items()} == {
        "ceph": {"clusterID": "rook-ceph", **secrets("rook-csi-cephfs-provisioner", "rook-ceph", "snapshotter")},
        "other-ceph": {"clusterID": "rook-two", **secrets("rook-csi-cephfs-provisioner", "rook-two", "snapshotter")},
    }
    assert {one["deletionPolicy"] for one in told.values()} == {"Retain"}


def test_juicefs_gets_its_secret_by_name_and_a_cache_in_mib() -> None:
    found = class_of("juice")
    uses = ("provisioner", "node-publish", "controller-expand")
    assert found["parameters"] == secrets("juicefs-secret", "kube-system", *uses)
    assert found["mountOptions"] == ["cache-dir=/var/jfsCache", "cache-size=204800"]


def test_a_data_fabric_is_told_its_hosts_racks_and_where_the_volume_is_seen() -> None:
    found = class_of("fabric")
    assert (found["provisioner"], found["reclaimPolicy"]) == ("com.mapr.csi-kdf", "Delete")
    assert found["parameters"] == {
        "csiProvisionerSecretName": "rest",
        "csiProvisionerSecretNamespace": "mapr",
        "csiNodePublishSecretName": "ticket",
        "csiNodePublishSecretNamespace": "mapr",
        "restServers": "api1:8443",
        "cldbHosts": "cldb1:7222 cldb2:7222",
        "cluster": "my.cluster.com",
        "securityType": "secure",
        "namePrefix": "fabric",
        "mountPrefix": "/tensorplane",
        "topology": "/data/rack1",
        "advisoryquota": "8G",
    }


def test_a_volume_of_another_ceph_cluster_is_no_origin() -> None:
    (line,) = lines(
        copy={"backend": {**CEPH, "clusterId": "two"}, "from": {"volume": "models"}}, models={"backend": CEPH}
    )
    assert line.startswith("copy.backend: volume models has another backend")


@pytest.mark.parametrize(
    ("volume", "line"),
    [
        ({"backend": CEPH, "encrypted": True}, "backend.kmsId: missing, but encrypted: true requires it; set the"),
        ({"backend": CEPH, "cache": {"sizeGib": 1}}, "cache: backend cephfs does not support a cache; use juicefs"),
        ({"backend": {**CEPH, "fileSytem": "x"}}, "backend.fileSytem: unknown setting"),
        ({"backend": {"kind": "juicefs", "secret": "s"}}, "backend.secretNamespace: required setting is missing"),
        ({"backend": JUICE, "encrypted": True}, "encrypted: backend juicefs does not support encryption at rest;"),
        (
            {"backend": JUICE, "accessModes": ["ReadOnlyMany"]},
            "accessModes: backend juicefs does not support ReadOnlyMany; use",
        ),
        (
            {"backend": JUICE, "from": {"volume": "other"}},
            "from.volume: backend juicefs does not support clones; use cephfs, ezmeral or storageClass",
        ),
        ({"backend": {**JUICE, "cacheDir": "cache"}}, "backend.cacheDir: invalid value 'cache'; use the absolute"),
        (
            {"backend": {key: FABRIC[key] for key in FABRIC if key != "ticketSecret"}},
            "backend.ticketSecret: missing, but a secure data fabric requires a ticket; set the Secret that has",
        ),
        ({"backend": {**FABRIC, "cldbHosts": []}}, "backend.cldbHosts: invalid value (a list); use at least one host"),
        (
            {"backend": {**FABRIC, "restServers": ["a b"]}},
            "backend.restServers.0: invalid value 'a b'; use one host, such as cldb1.example.org:7222",
        ),
        (
            {"backend": {**FABRIC, "advisoryQuotaGib": 11}},
            "backend.advisoryQuotaGib: 11 is not below the volume's 10 GiB; set less",
        ),
        ({"backend": {**FABRIC, "topology": "rack1"}}, "backend.topology: invalid value 'rack1'; use an absolute path"),
        ({"backend": FABRIC, "sizeGib": 0.5}, "sizeGib: invalid size 0.5 for backend ezmeral; use 1 GiB or more"),
    ],
)
def test_what_cannot_be_had_is_one_line(volume: dict[str, Any], line: str) -> None:
    found = [text for text in lines(models=volume, other={"backend": JUICE}) if text.startswith("models.")]
    assert [text[len("models.") :][: len(line)] for text in found] == [line]


def test_the_embedded_cluster_has_none_of_them() -> None:
    for backend in (CEPH, JUICE, FABRIC):
        (line,) = lines(cluster={"kind": "embedded"}, models={"backend": backend})
        assert line.startswith(f"models.backend: {backend['kind']} requires cluster kind ")
