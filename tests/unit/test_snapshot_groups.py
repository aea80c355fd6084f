"""Snapshots of several volumes at one instant: what is registered, what runs in the cluster, what is refused."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import stack
from components.settings import Settings
from components.volume import snapshot_group
from snapshotter import __main__ as program
from snapshotter.group import GroupApi
from tests.unit import rendering
from tests.unit.rendering import Rendered
from tests.unit.test_snapshots import NOW, Fake, fake, item
from tests.unit.test_volume_settings import EXISTING, FILES, lines

__all__ = ["fake"]

CEPH = {"kind": "cephfs"}
TOGETHER = {"schedule": "0 * * * *", "keep": 3, "group": "training"}
CLASSES = "apis/groupsnapshot.storage.k8s.io/v1"
GROUPS = f"/{CLASSES}/namespaces/lab/volumegroupsnapshots"
CONTENTS = f"/{CLASSES}/volumegroupsnapshotcontents"
MEMBERS = "/apis/snapshot.storage.k8s.io/v1/namespaces/lab/volumesnapshots"
MEMBER_CONTENTS = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"


def built(backend: dict[str, Any]) -> Rendered:
    volume = {"sizeGib": 10, "backend": backend}
    volumes = {
        "weights": {**volume, "snapshots": TOGETHER},
        "optimizer": {**volume, "snapshots": TOGETHER},
        "alone": {**volume, "snapshots": {"schedule": "@daily"}},
    }
    return rendering.run(
        lambda: stack.build(stack.StackConfig.load(Settings({"cluster": EXISTING, "volumes": volumes})))
    )


@cache
def made() -> Rendered:
    return built(CEPH)


def words(of: Rendered, job: str) -> list[str]:
    pod = of.one("CronJob", job).inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return list(pod["containers"][0]["command"][3:])


def test_a_group_has_one_schedule_and_its_claims_carry_its_label() -> None:
    assert [job.name for job in made().all("CronJob")] == ["snapshots-alone", "snapshots-training"]
    asked = program.parsed(words(made(), "snapshots-training"))
    assert (asked.volume, asked.group, asked.keep) == ("training", True, 3)
    assert program.parsed(words(made(), "snapshots-alone")).group is False
    labelled = {
        claim.name: claim.inputs["metadata"]["labels"].get(snapshot_group.LABEL)
        for claim in made().all("PersistentVolumeClaim")
    }
    assert labelled == {"weights": "training", "optimizer": "training", "alone": None}
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
    assert program.parsed(words(made(), "snapshots-training")).snapshot_class == found["metadata"]["name"]


def test_a_class_of_the_cluster_is_used_as_it_is() -> None:
    of = built({**FILES, "groupSnapshotClass": "files-at-once"})
    assert program.parsed(words(of, "snapshots-training")).snapshot_class == "files-at-once"
    assert of.all("VolumeGroupSnapshotClass") == []


def test_the_rights_are_those_of_groups_too_and_end_with_the_namespace() -> None:
    (in_namespace,), (everywhere,) = (
        [one.inputs["rules"] for one in made().all(kind)] for kind in ("Role", "ClusterRole")
    )
    assert {rule["resources"][0]: rule["verbs"] for rule in in_namespace} == {
        "volumesnapshots": ["get", "list", "create", "delete", "patch"],
        "volumegroupsnapshots": ["get", "list", "create", "delete"],
    }
    assert {rule["resources"][0]: rule["verbs"] for rule in everywhere} == {
        "volumesnapshotcontents": ["patch"],
        "volumegroupsnapshotcontents": ["patch"],
    }
    limits = [one.inputs["spec"]["validations"][0]["expression"] for one in made().all("ValidatingAdmissionPolicy")]
    assert limits == [
        "oldObject.spec.volumeSnapshotRef.namespace == 'tensorplane-dev'",
        "oldObject.spec.volumeGroupSnapshotRef.namespace == 'tensorplane-dev'",
    ]


def test_a_run_takes_one_of_all_labels_its_members_and_gives_up_what_is_past(fake: tuple[Any, type[Fake]]) -> None:
    plain, server = fake
    api = GroupApi(plain.namespace, plain.server, plain.account)

    def whole(name: str, taken: str) -> dict[str, Any]:
        found = item(name, taken)
        found["status"]["boundVolumeGroupSnapshotContentName"] = f"group-{name}"
        return found

    def member(name: str, owner: str, claim: str) -> dict[str, Any]:
        found = item(name, "2026-11-21T15:00:00Z", ownerReferences=[{"kind": "VolumeGroupSnapshot", "name": owner}])
        return {**found, "spec": {"source": {"persistentVolumeClaimName": claim}}}

    name = "training-20261121-1600"
    members = [
        member("snapshot-a", name, "weights"),
        member("snapshot-b", "older", "weights"),
        {**item("models-20261121-1500", "2026-11-21T15:00:00Z"), "spec": {"source": {}}},
    ]
    server.answers = {
        ("GET", f"{GROUPS}/{name}"): (200, whole(name, "2026-11-21T16:00:01Z")),
        ("GET", GROUPS): (
            200,
            {"items": [whole(name, "2026-11-21T16:00:01Z"), whole("older", "2026-11-21T15:00:00Z")]},
        ),
        ("GET", MEMBERS): (200, {"items": members}),
    }
    program.run(
        api,
        program.parsed(["training", "ceph", "--group", "--keep=1"]),
        f"snapshots-training-{int(NOW.timestamp()) // 60}",
    )
    ((_, path, wanted),) = [step for step in server.asked if step[0] == "POST"]
    assert (path, wanted["kind"], wanted["metadata"]["name"]) == (GROUPS, "VolumeGroupSnapshot", name)
    assert wanted["spec"] == {
        "volumeGroupSnapshotClassName": "ceph",
        "source": {"selector": {"matchLabels": {"tensorplane.dev/snapshot-group": "training"}}},
    }
    away = {"spec": {"deletionPolicy": "Delete"}}
    changes = [step for step in server.asked if step[0] in ("PATCH", "DELETE")]
    labelled = changes[0][2]["metadata"]["labels"]
    assert changes[0][:2] == ("PATCH", f"{MEMBERS}/snapshot-a")
    assert (labelled["tensorplane.dev/volume"], labelled["tensorplane.dev/reason"]) == ("weights", "group")
    assert changes[1:] == [
        ("PATCH", f"{MEMBER_CONTENTS}/content-snapshot-b", away),
        ("PATCH", f"{CONTENTS}/group-older", away),
        ("DELETE", f"{GROUPS}/older", None),
    ]


@pytest.mark.parametrize(
    ("second", "line"),
    [
        ({"snapshots": {**TOGETHER, "schedule": "@daily"}}, "snapshots.schedule: got 0 0 * * *, volume weights"),
        ({"snapshots": {**TOGETHER, "keep": None}}, "snapshots.keep: missing, volume weights of group training has 3"),
        ({"snapshots": {**TOGETHER, "expire": "2d"}}, "snapshots.expire: got 2d, volume weights of group"),
        ({"backend": {**CEPH, "clusterId": "two"}}, "snapshots.group: got training, and volume weights of it is kept"),
        ({"backend": FILES}, "backend.groupSnapshotClass: missing, and snapshots of a group need it"),
        ({"backend": {"kind": "juicefs", "secret": "s", "secretNamespace": "n"}},
         "snapshots.group: backend juicefs has no snapshots of a group; cephfs"),
        ({"snapshots": {**TOGETHER, "group": "weights"}}, "snapshots.group: got weights, the name of a volume"),
        ({"snapshots": {**TOGETHER, "group": "g" * 43}}, "snapshots.group: the name has 43 characters, at most 42"),
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
        "models.snapshots.group: backend embedded has no snapshots of a group; none has it on cluster kind embedded, "
        "cephfs and storageClass have it elsewhere"
    )
