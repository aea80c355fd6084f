"""`tensorplane volumes` from recorded answers of an API server: rows, leftovers, and what is printed."""

from __future__ import annotations

import io
import json
import os
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.volumes import command as volumes
from tensorplane.cli.commands.volumes import leftovers, rows, tables
from tensorplane.cli.commands.volumes import objects as volume_facts
from tensorplane.cli.commands.volumes.objects import VolumeObjects
from tensorplane.components.base import quantities
from tensorplane.core import times
from tensorplane.core.errors import UserError
from tests.support.goldens import GOLDEN as FOLDER

GOLDEN = FOLDER / "volumes-command.txt"
NOW = datetime(2026, 11, 21, 16, 0, tzinfo=UTC)
SETTINGS: dict[str, Any] = {
    "models": {"sizeGib": 2, "snapshots": {"schedule": "@hourly"}},
    "scratch": {"sizeGib": 1, "retain": False},
    "shared": {"sizeGib": 1, "mirror": {"to": {"region": "us-east-2"}}},
    "tables": {"sizeGib": 1, "mirror": {"to": {"region": "us-east-2"}}},
}


def _claim(name: str, volume: str, *, storage_class: str = "", phase: str = "Bound", size: str = "1Gi") -> Object:
    return {
        "metadata": {"name": name, "namespace": "ml", "uid": f"uid-{name}"},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": storage_class,
            "volumeName": volume,
        },
        "status": {"phase": phase, **({"capacity": {"storage": size}} if phase == "Bound" else {})},
    }


def _volume(name: str, claim: str, *, phase: str = "Bound", keeps: str = "Retain", **more: Any) -> Object:
    notes = more.pop("annotations", {"pv.kubernetes.io/provisioned-by": "btrfs"})
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-11-01T00:00:00Z", "annotations": notes},
        "spec": {
            "capacity": {"storage": "2Gi"},
            "claimRef": {"namespace": "ml", "name": claim, "uid": f"uid-{claim}"},
            "persistentVolumeReclaimPolicy": keeps,
            **more,
        },
        "status": {"phase": phase, "lastPhaseTransitionTime": "2026-11-21T15:00:00Z"},
    }


def _snapshot(name: str, volume: str, taken: str, *, reason: str | None = "schedule", ready: bool = True) -> Object:
    labels = {"tensorplane.dev/reason": reason} if reason else {}
    status: Object = {"readyToUse": ready, "creationTime": taken, "restoreSize": "2Gi"}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "creationTimestamp": taken, "labels": labels},
        "spec": {"source": {"persistentVolumeClaimName": volume}},
        "status": status if ready else {"error": {"message": "no space"}},
    }


def _content(name: str, snapshot: str) -> Object:
    return {
        "metadata": {"name": name, "annotations": {"snapshot.storage.kubernetes.io/deletion-secret-name": "key"}},
        "spec": {
            "driver": "btrfs",
            "volumeSnapshotRef": {"namespace": "ml", "name": snapshot, "uid": f"uid-{snapshot}"},
        },
        "status": {"snapshotHandle": f"handle-{name}", "creationTime": 1795262400 * 10**9, "restoreSize": 2**31},
    }


def _pod(name: str, *claims: str, phase: str = "Running") -> Object:
    mounted = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    return {
        "metadata": {"name": name},
        "spec": {"volumes": [*mounted, {"name": "x", "emptyDir": {}}]},
        "status": {"phase": phase},
    }


FACTS = VolumeObjects(
    claims=[
        _claim("scratch", "pv-scratch", storage_class="fast", phase="Pending"),
        _claim("models", "pv-models", storage_class="tensorplane-embedded", size="2Gi"),
        _claim("shared", "pv-shared"),
        _claim("tables", "pv-tables", storage_class="ceph"),
        _claim("stranger", "pv-stranger", storage_class="ceph"),
    ],
    volumes=[
        _volume(
            "pv-models",
            "models",
            annotations={
                "tensorplane.dev/mirror": "pool mirror",
                "tensorplane.dev/mirrored-at": "2026-11-21T15:58:00Z",
            },
        ),
        _volume("pv-shared", "shared", csi={"driver": "efs.csi.aws.com", "volumeHandle": "fs-1::fsap-2"}),
        _volume("pv-tables", "tables"),
        _volume("pv-stranger", "stranger", keeps="Delete"),
        _volume("pv-old", "removed", phase="Released"),
        _volume("pv-older", "models", phase="Released"),
        _volume("pv-hand", "hand", phase="Released", annotations={}),
        _volume("pv-back", "back", phase="Available"),
        _volume("pv-free", "free", phase="Available") | {"spec": {"capacity": {"storage": "1Gi"}}},
    ],
    pods=[
        _pod("server-1", "models"),
        _pod("server-2", "models"),
        _pod("worker", "models", "shared"),
        _pod("done", "models", phase="Succeeded"),
    ],
    snapshots=[
        _snapshot("models-20261121-1500", "models", "2026-11-21T15:00:00Z"),
        _snapshot("models-20261118-1500", "models", "2026-11-18T15:00:00Z", reason="manual"),
        _snapshot("models-20261121-1559", "models", "2026-11-21T15:59:00Z", ready=False),
        _snapshot("removed-20261121-150000", "removed", "2026-11-21T15:00:00Z", reason="before-change"),
        _snapshot("mine", "tables", "2026-11-21T12:00:00Z", reason=None),
    ],
    contents=[_content("content-mine", "mine"), _content("content-lost", "models-20261110-0400")],
    replications=[{"spec": {"sourcePVC": "tables"}, "status": {"lastSyncTime": "2026-11-21T14:00:00Z"}}],
    every_claim=frozenset({"ml/scratch", "ml/models", "ml/shared", "ml/tables", "ml/stranger"}),
    every_snapshot=frozenset({"uid-mine"}),
    used={"models": 3 * 2**28},
)


def _rows() -> dict[str, rows.Volume]:
    return {one.name: one for one in rows.volumes(FACTS, SETTINGS)}


def _printed(facts: VolumeObjects = FACTS, width: int = 190) -> str:
    drawn = io.StringIO()
    console = Console(width=width, file=drawn)
    left = leftovers.leftovers(facts)
    console.print(tables.overview(rows.volumes(facts, SETTINGS), left, facts.notes, NOW))
    for line in tables.commands(left, "pulumi up --refresh --stack dev"):
        console.print(line, soft_wrap=True, markup=False)
    return "".join(f"{line.rstrip()}\n" for line in drawn.getvalue().splitlines())


def test_the_tables_say_what_the_cluster_said() -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(_printed())
    assert _printed() == GOLDEN.read_text()


def test_one_volume_has_a_line_for_each_snapshot() -> None:
    drawn = io.StringIO()
    Console(width=120, file=drawn).print(tables.one_volume(_rows()["models"], NOW))
    cells = [line.split("  ") for line in drawn.getvalue().splitlines()]
    assert [[cell.strip() for cell in line if cell.strip()] for line in cells] == [
        ["snapshot", "reason", "age", "size", "ready"],
        ["models-20261121-1559", "schedule", "60 s", "-", "no space"],
        ["models-20261121-1500", "schedule", "60 min", "2 GiB", "yes"],
        ["models-20261118-1500", "manual", "3 d", "2 GiB", "yes"],
    ]


@pytest.mark.parametrize(
    ("volume", "mirror"),
    [
        ("models", "pool mirror, 2 min behind"),
        ("tables", "region: us-east-2, 2 h behind"),
        ("shared", "region: us-east-2, lag unknown"),
        ("scratch", "-"),
    ],
)
def test_a_mirror_tells_how_far_it_is_behind(volume: str, mirror: str) -> None:
    assert tables.mirror_text(_rows()[volume].mirror, NOW) == mirror


def test_where_the_cluster_does_not_know_the_lag_a_command_tells_it() -> None:
    found = _rows()["shared"].mirror
    assert found and found.command
    assert found.command.startswith("aws efs describe-replication-configurations --file-system-id fs-1 ")


def test_the_command_for_ceph_s_mirror_asks_the_daemon_about_this_directory(tmp_path: Path) -> None:
    attributes = {"clusterID": "rook-two", "subvolumePath": "/volumes/csi/csi-vol-1/0b3e"}
    csi = {"driver": "rook-ceph.cephfs.csi.ceph.com", "volumeHandle": "1", "volumeAttributes": attributes}
    facts = replace(FACTS, claims=(_claim("data", "pv-data"),), volumes=(_volume("pv-data", "data", csi=csi),))
    settings = {"data": {"sizeGib": 1, "mirror": {"to": {"peer": "other"}, "every": "15m"}}}
    found = next(one for one in rows.volumes(facts, settings) if one.name == "data").mirror
    assert found and found.command and (found.to, found.reached) == ("peer: other", None)
    # As a shell runs it, with a pod and a daemon that answer as Ceph's documentation says.
    (tmp_path / "ceph-client.fs-mirror.1.asok").touch()
    status = "fs mirror peer status myfs@1 a24a"
    help_of_it = json.dumps({"fs mirror status myfs@1": "", status: "get peer mirror status"}, indent=1)
    told = {"/volumes/csi/csi-vol-1": {"state": "idle", "last_synced_snap": {"id": 4, "name": "mirror-20261121-1545"}}}
    for name, body in {
        "kubectl": 'test "$2 $4" = "rook-two deploy/rook-ceph-fs-mirror" && shift 5 && exec "$@"',
        "ceph": f"""case "$3 $4" in
            "help "*) echo '{help_of_it}' ;;
            "fs mirror") test "$*" = "--admin-daemon $2 {status}" && echo '{json.dumps(told, indent=1)}' ;;
        esac""",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    command = found.command.replace("/var/run/ceph", str(tmp_path))
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    said = subprocess.run(["sh", "-c", command], env=path, capture_output=True, text=True, check=True).stdout
    assert "/volumes/csi/csi-vol-1" in said and "mirror-20261121-1545" in said


def test_bytes_whose_claim_has_others_now_come_back_under_another_name() -> None:
    left = {one.name: one for one in leftovers.leftovers(FACTS)}
    assert set(left) == {"pv-old", "pv-older", "pv-hand", "pv-back", "content-lost"}
    assert json.loads(left["pv-old"].back.split("'")[1])[0]["value"]["name"] == "removed"
    assert json.loads(left["pv-older"].back.split("'")[1])[0]["value"]["name"] == "models-before"
    assert (left["pv-back"].state, left["pv-back"].back) == ("waits for claim back", "pulumi up --refresh --stack dev")
    theirs = {one.name: one.back for one in leftovers.leftovers(FACTS, stack="prod", context="kind")}
    assert theirs["pv-back"] == "TENSORPLANE_CONTEXT=kind pulumi up --refresh --stack prod"
    assert theirs["content-lost"].startswith("tensorplane volumes content-lost --bring-back --stack prod | kubectl")
    assert left["pv-hand"].gone == "kubectl delete pv pv-hand  # its data stays"


@pytest.mark.parametrize(
    ("claim", "had", "asked_for"),
    [("models", "every-900s", "tensorplane-unmirrored"), ("deleted", "every-900s", None),
     ("deleted", None, "tensorplane-unmirrored"), ("removed", "every-900s", "tensorplane-unmirrored")],
)  # fmt: skip
def test_a_volume_of_the_embedded_cluster_comes_back_with_the_class_of_its_claim(
    claim: str, had: str | None, asked_for: str | None
) -> None:
    more: Object = {"csi": {"driver": "btrfs.csi.tensorplane.dev"}, "volumeAttributesClassName": had}
    facts = replace(FACTS, volumes=[_volume("pv", claim, phase="Released", **more)], contents=[])
    (left,) = leftovers.leftovers(facts, {"ml/models", "ml/deleted"})
    changed = {one["path"]: one["value"] for one in json.loads(left.back.split("'")[1])}
    assert changed.get("/spec/volumeAttributesClassName") == asked_for


def test_a_lost_snapshot_comes_back_with_its_bytes_and_secrets() -> None:
    content, snapshot = leftovers.brought_back(FACTS, "content-lost")
    assert content["spec"]["source"] == {"snapshotHandle": "handle-content-lost"}
    assert content["spec"]["deletionPolicy"] == "Retain"
    assert content["metadata"]["annotations"] == {"snapshot.storage.kubernetes.io/deletion-secret-name": "key"}
    assert content["spec"]["volumeSnapshotRef"] == {"namespace": "ml", "name": snapshot["metadata"]["name"]}
    assert snapshot["spec"]["source"] == {"volumeSnapshotContentName": content["metadata"]["name"]}
    assert snapshot["metadata"]["labels"]["tensorplane.dev/volume"] == "models"
    with pytest.raises(UserError, match=r"content-mystery is not a VolumeSnapshotContent .*choose one of content-lost"):
        leftovers.brought_back(FACTS, "content-mystery")


def test_bytes_that_came_back_are_no_leftover() -> None:
    back = _content("content-back", "back") | {"status": {"snapshotHandle": "handle-content-lost"}}
    again = replace(FACTS, contents=[*FACTS.contents, back])
    assert sum(one.kind == "VolumeSnapshotContent" for one in leftovers.leftovers(again)) == 1
    bound = replace(again, every_snapshot=FACTS.every_snapshot | {"uid-back"})
    assert not any(one.kind == "VolumeSnapshotContent" for one in leftovers.leftovers(bound))


def test_programs_get_every_fact() -> None:
    told = tables.plain(rows.volumes(FACTS, SETTINGS), leftovers.leftovers(FACTS), ["note"], NOW)
    again = json.loads(json.dumps(told, default=volumes._text))
    models = next(one for one in again["volumes"] if one["name"] == "models")
    assert (models["size"], models["used"], models["mirror"]["lag_seconds"]) == (2**31, 3 * 2**28, 120)
    assert models["snapshots"][-1]["taken"] == "2026-11-18T15:00:00+00:00"
    assert (again["notes"], len(again["leftovers"])) == (["note"], 5)


def test_a_cluster_without_any_of_it_says_so() -> None:
    assert _printed(VolumeObjects()) == "No volumes.\n"
    assert (
        _printed(replace(VolumeObjects(), notes=["GET /api: forbidden"]))
        == "No volumes.\ncould not read: GET /api: forbidden\n"
    )


class Api:
    """An API server with answers by path; what is not there is refused."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers

    def items(self, path: str) -> list[Object]:
        if path not in self._answers:
            raise UserError(f"GET {path}: forbidden")
        found: list[Object] = self._answers[path]
        return found

    def text(self, path: str) -> str:
        return str(self._answers.get(path, ""))


def test_what_somebody_may_not_ask_is_a_note_and_the_rest_is_shown() -> None:
    pod = _pod("worker", "models")
    pod["spec"]["nodeName"] = "node"
    usage = {"pvcRef": {"namespace": "ml", "name": "models"}, "usedBytes": 5}
    inside = "/api/v1/namespaces/ml"
    asked = Api(
        {
            f"{inside}/pods": [pod],
            f"{inside}/persistentvolumeclaims": [_claim("models", "pv")],
            "/api/v1/nodes/node/proxy/stats/summary": json.dumps({"pods": [{"volume": [usage, {"name": "tmp"}]}]}),
        }
    )
    facts = volume_facts.gather(asked, "ml")  # type: ignore[arg-type]
    assert facts.used == {"models": 5}
    assert "GET /api/v1/persistentvolumes: forbidden" in facts.notes
    with pytest.raises(UserError, match="forbidden"):
        volume_facts.gather(Api({}), "ml")  # type: ignore[arg-type]


def test_without_a_list_of_all_snapshots_no_deletion_is_suggested() -> None:
    inside, snapshots = "/api/v1/namespaces/ml", "/apis/snapshot.storage.k8s.io/v1"
    answers: dict[str, Any] = {
        f"{inside}/pods": [],
        f"{inside}/persistentvolumeclaims": [_claim("models", "pv")],
        f"{snapshots}/volumesnapshotcontents": [_content("content-mine", "mine")],
    }
    facts = volume_facts.gather(Api(answers), "ml")  # type: ignore[arg-type]
    assert leftovers.leftovers(facts) == []
    assert facts.every_claim == {"ml/models"}
    facts = volume_facts.gather(Api({**answers, f"{snapshots}/volumesnapshots": []}), "ml")  # type: ignore[arg-type]
    assert [one.name for one in leftovers.leftovers(facts)] == ["content-mine"]


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (3 * 86400, "3 d"), (-5, "0 s")]
)
def test_ages_are_in_the_largest_unit_that_fits_twice(seconds: int, told: str) -> None:
    assert times.age(datetime.fromtimestamp(NOW.timestamp() - seconds, UTC), NOW) == told


@pytest.mark.parametrize(
    ("text", "told"), [("500M", "477 MiB"), ("1Gi", "1 GiB"), ("1500Gi", "1.46 TiB"), ("12", "12 B"), (None, "-")]
)
def test_sizes_are_for_people(text: str | None, told: str) -> None:
    assert quantities.size(quantities.size_bytes(text)) == told
