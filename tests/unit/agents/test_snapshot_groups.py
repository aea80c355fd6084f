"""Snapshots of a group of volumes: what a run asks the API server for."""

from __future__ import annotations

from typing import Any

from tensorplane.agents.snapshots import __main__ as program
from tensorplane.agents.snapshots.volume_group_snapshots import VolumeGroupSnapshots
from tests.unit.agents.fake_api_server import FakeApiServer
from tests.unit.agents.test_snapshots import NOW, item

CLASSES = "apis/groupsnapshot.storage.k8s.io/v1"
GROUPS = f"/{CLASSES}/namespaces/lab/volumegroupsnapshots"
CONTENTS = f"/{CLASSES}/volumegroupsnapshotcontents"
MEMBERS = "/apis/snapshot.storage.k8s.io/v1/namespaces/lab/volumesnapshots"
MEMBER_CONTENTS = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"


def test_a_run_takes_one_of_all_labels_its_members_and_gives_up_what_is_past(api_server: FakeApiServer) -> None:
    snapshots = VolumeGroupSnapshots("lab", api_server.client)

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
    api_server.answers = {
        ("GET", f"{GROUPS}/{name}"): (200, whole(name, "2026-11-21T16:00:01Z")),
        ("GET", GROUPS): (
            200,
            {"items": [whole(name, "2026-11-21T16:00:01Z"), whole("older", "2026-11-21T15:00:00Z")]},
        ),
        ("GET", MEMBERS): (200, {"items": members}),
    }
    program.run(
        snapshots,
        program.parse_arguments(["training", "ceph", "--group", "--keep=1"]),
        f"snapshots-training-{int(NOW.timestamp()) // 60}",
    )
    ((_, path, wanted),) = [step for step in api_server.asked if step[0] == "POST"]
    assert (path, wanted["kind"], wanted["metadata"]["name"]) == (GROUPS, "VolumeGroupSnapshot", name)
    assert wanted["spec"] == {
        "volumeGroupSnapshotClassName": "ceph",
        "source": {"selector": {"matchLabels": {"tensorplane.dev/snapshot-group": "training"}}},
    }
    away = {"spec": {"deletionPolicy": "Delete"}}
    changes = [step for step in api_server.asked if step[0] in ("PATCH", "DELETE")]
    labelled = changes[0][2]["metadata"]["labels"]
    assert changes[0][:2] == ("PATCH", f"{MEMBERS}/snapshot-a")
    assert (labelled["tensorplane.dev/volume"], labelled["tensorplane.dev/reason"]) == ("weights", "group")
    assert changes[1:] == [
        ("PATCH", f"{MEMBER_CONTENTS}/content-snapshot-b", away),
        ("PATCH", f"{CONTENTS}/group-older", away),
        ("DELETE", f"{GROUPS}/older", None),
    ]
    del api_server.asked[:]
    due = f"snapshots-training-{int(NOW.timestamp()) // 60}"
    program.run(
        snapshots, program.parse_arguments(["training", "ceph", "--group", "--keep=1", "--hold=snapshot-b"]), due
    )
    assert [step for step in api_server.asked if step[0] == "DELETE"] == []
