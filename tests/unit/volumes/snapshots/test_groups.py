"""Snapshots of several volumes at one instant: what is registered, what is refused."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tensorplane.agents.snapshots import __main__ as program
from tensorplane.agents.snapshots import manifest
from tensorplane.components.volumes.snapshots.snapshotter import ACCOUNT
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered
from tests.support.volume_problems import EXISTING, FILES, lines

CEPH = {"kind": "cephfs"}
TOGETHER = {"schedule": "0 * * * *", "keep": 3, "group": "training"}


def built(backend: dict[str, Any]) -> Rendered:
    volume = {"sizeGib": 10, "backend": backend}
    volumes = {
        "weights": {**volume, "snapshots": TOGETHER},
        "optimizer": {**volume, "snapshots": TOGETHER},
        "alone": {**volume, "snapshots": {"schedule": "@daily"}},
        "again": {**volume, "from": {"snapshot": "snapshot-b"}},
    }
    return rendered_tree({"cluster": EXISTING, "volumes": volumes})


@cache
def made() -> Rendered:
    return built(CEPH)


def words(of: Rendered, job: str) -> list[str]:
    pod = of.one("CronJob", job).inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return list(pod["containers"][0]["command"][3:])


def test_a_group_has_one_schedule_and_its_claims_carry_its_label() -> None:
    assert [job.name for job in made().all("CronJob")] == ["snapshots-alone", "snapshots-training"]
    asked = program.parse_arguments(words(made(), "snapshots-training"))
    assert (asked.volume, asked.group, asked.keep) == ("training", True, 3)
    assert program.parse_arguments(words(made(), "snapshots-alone")).group is False
    # No name of a group's snapshot says whose it is.
    assert (asked.hold, program.parse_arguments(words(made(), "snapshots-alone")).hold) == (["snapshot-b"], [])
    labelled = {
        claim.name: claim.inputs["metadata"]["labels"].get(manifest.VOLUME_GROUP_LABEL)
        for claim in made().all("PersistentVolumeClaim")
    }
    assert labelled == {"weights": "training", "optimizer": "training", "alone": None, "again": None}
    needed = made().one("CronJob", "snapshots-training").options["dependsOn"]
    assert {"PersistentVolumeClaim weights", "PersistentVolumeClaim optimizer"} <= set(needed)


def test_its_class_is_the_driver_s_and_retains() -> None:
    found = made().one("VolumeGroupSnapshotClass").inputs
    secret = "csi.storage.k8s.io/group-snapshotter-secret"
    assert found["apiVersion"] == "groupsnapshot.storage.k8s.io/v1"
    assert (found["driver"], found["deletionPolicy"]) == ("rook-ceph.cephfs.csi.ceph.com", "Retain")
    assert found["parameters"] == {
        "clusterID": "rook-ceph",
        "fsName": "myfs",
        f"{secret}-name": "rook-csi-cephfs-provisioner",
        f"{secret}-namespace": "rook-ceph",
    }
    assert program.parse_arguments(words(made(), "snapshots-training")).snapshot_class == found["metadata"]["name"]


def test_a_class_of_the_cluster_is_used_as_it_is() -> None:
    of = built({**FILES, "groupSnapshotClass": "files-at-once"})
    assert program.parse_arguments(words(of, "snapshots-training")).snapshot_class == "files-at-once"
    assert of.all("VolumeGroupSnapshotClass") == []


def test_the_rights_are_those_of_groups_too_and_end_with_the_namespace() -> None:
    in_namespace = made().one("Role", ACCOUNT).inputs["rules"]
    everywhere = made().one("ClusterRole", f"tensorplane-dev-{ACCOUNT}").inputs["rules"]
    assert {rule["resources"][0]: rule["verbs"] for rule in in_namespace} == {
        "volumesnapshots": ["get", "list", "create", "delete", "patch"],
        "volumegroupsnapshots": ["get", "list", "create", "delete"],
    }
    assert {rule["resources"][0]: rule["verbs"] for rule in everywhere} == {
        "volumesnapshotcontents": ["patch"],
        "volumegroupsnapshotcontents": ["patch"],
    }
    names = [f"tensorplane-dev-{ACCOUNT}{suffix}" for suffix in ("", ".groups")]
    policies = [made().one("ValidatingAdmissionPolicy", name).inputs["spec"] for name in names]
    limits = [policy["validations"][0]["expression"] for policy in policies]
    assert limits == [
        "oldObject.spec.volumeSnapshotRef.namespace == 'tensorplane-dev'",
        "oldObject.spec.volumeGroupSnapshotRef.namespace == 'tensorplane-dev'",
    ]


@pytest.mark.parametrize(
    ("second", "line"),
    [
        ({"snapshots": {**TOGETHER, "schedule": "@daily"}},
         "snapshots.schedule: is 0 0 * * *, but volume weights of the same group training has 0 * * * *; set"),
        ({"snapshots": {"schedule": "0 * * * *", "group": "training"}},
         "snapshots.keep: missing, but volume weights of the same group training has 3; set the same for both"),
        ({"snapshots": {**TOGETHER, "expire": "2d"}}, "snapshots.expire: is 2d, but volume weights of the same"),
        ({"backend": {**CEPH, "clusterId": "two"}}, "snapshots.group: is training, but volume weights of that"),
        ({"backend": FILES}, "backend.groupSnapshotClass: missing, but group snapshots require it; choose one from"),
        ({"backend": {"kind": "juicefs", "secret": "s", "secretNamespace": "n"}},
         "snapshots.group: backend juicefs does not support group snapshots; use cephfs or storageClass"),
        ({"snapshots": {**TOGETHER, "group": "weights"}},
         "snapshots.group: weights is the name of a volume; use another name for the group"),
        ({"snapshots": {**TOGETHER, "group": "g" * 43}},
         "snapshots.group: the name has 43 characters; shorten it to 42"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_one_line(second: dict[str, Any], line: str) -> None:
    found = lines(
        weights={"backend": CEPH, "snapshots": TOGETHER},
        optimizer={"backend": CEPH, "snapshots": TOGETHER, **second},
    )
    assert [text[len("optimizer.") :][: len(line)] for text in found] == [line]


def test_the_embedded_driver_has_none_and_says_who_has() -> None:
    (line,) = lines(cluster={"kind": "embedded"}, models={"snapshots": TOGETHER})
    assert line == (
        "models.snapshots.group: backend embedded does not support group snapshots; no backend on cluster "
        "kind embedded does (on other clusters: cephfs or storageClass)"
    )
