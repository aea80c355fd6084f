"""Scheduled snapshots: what is taken, what is deleted, and what the API server is asked for."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tensorplane.agents.snapshots import __main__ as program
from tensorplane.agents.snapshots.retention import AT_MOST_WAITING, GIVE_UP, Snapshot, expired, never_ready
from tensorplane.agents.snapshots.volume_snapshots import VolumeSnapshots
from tests.unit.agents.fake_api_server import FakeApiServer

NOW = datetime(2026, 11, 21, 16, tzinfo=UTC)


def hours_ago(hours: float, *, ready: bool = True) -> Snapshot:
    return Snapshot(f"at-{hours}", NOW - timedelta(hours=hours), ready)


def test_the_newest_stay() -> None:
    all_of_them = [hours_ago(h) for h in (3, 1, 4, 2)]
    assert [one.name for one in expired(all_of_them, NOW, keep=2, expire=None)] == ["at-4", "at-3"]


def test_one_expires_though_there_is_room_but_never_the_newest() -> None:
    limit = timedelta(hours=2)
    assert [one.name for one in expired([hours_ago(h) for h in (1, 3)], NOW, keep=9, expire=limit)] == ["at-3"]
    assert expired([hours_ago(3)], NOW, keep=9, expire=limit) == []


def test_what_is_not_ready_neither_counts_nor_goes_before_it_has_failed() -> None:
    half_made, failed = hours_ago(1, ready=False), hours_ago(GIVE_UP / timedelta(hours=1) + 1, ready=False)
    assert expired([half_made, failed], NOW, keep=1, expire=timedelta(hours=1)) == []
    assert expired([half_made, failed, hours_ago(2)], NOW, keep=1, expire=None) == [failed]


def test_retention_leaves_what_it_promises_whatever_there_is() -> None:
    chance = random.Random(7)
    for _ in range(300):
        ages = chance.sample(range(90), chance.randint(0, 12))
        there = [hours_ago(age, ready=chance.random() < 0.8) for age in ages]
        keep, limit = chance.randint(1, 5), timedelta(hours=chance.randint(1, 60))
        gone = expired(there, NOW, keep=keep, expire=limit)
        left = [one for one in there if one not in gone and one.ready]
        ready = [one for one in there if one.ready]
        assert bool(left) == bool(ready)
        assert not ready or max(one.taken for one in left) == max(one.taken for one in ready)
        assert len(left) <= keep


def test_a_second_try_is_the_same_snapshot_and_a_job_of_a_person_is_another() -> None:
    due = int(NOW.timestamp()) // 60
    later = NOW + timedelta(minutes=3, seconds=9)
    assert program.name_and_reason("models", f"snapshots-models-{due}", later) == ("models-20261121-1600", "schedule")
    assert program.name_and_reason("models", "before-migration", later) == ("models-20261121-160309", "manual")


ROOT = "/apis/snapshot.storage.k8s.io/v1"
HERE = f"{ROOT}/namespaces/lab/volumesnapshots"


def snapshots_of(api_server: FakeApiServer) -> VolumeSnapshots:
    return VolumeSnapshots("lab", api_server.client)


def item(name: str, taken: str, *, ready: bool = True, **metadata: Any) -> dict[str, Any]:
    status = {"readyToUse": ready, "creationTime": taken, "boundVolumeSnapshotContentName": f"content-{name}"}
    return {"metadata": {"name": name, "creationTimestamp": taken, **metadata}, "status": status}


def test_a_run_takes_one_and_gives_up_the_bytes_of_what_is_past(api_server: FakeApiServer) -> None:
    name = "models-20261121-1600"
    items = [
        item(name, "2026-11-21T16:00:01Z"),
        item("older", "2026-11-21T15:00:00Z"),
        item("leaving", "2026-11-21T14:00:00Z", deletionTimestamp="2026-11-21T15:30:00Z"),
    ]
    # A second try: the first one has asked for this snapshot already.
    api_server.answers = {
        ("POST", HERE): (409, {}),
        ("GET", f"{HERE}/{name}"): (200, items[0]),
        ("GET", HERE): (200, {"items": items}),
    }
    job = f"snapshots-models-{int(NOW.timestamp()) // 60}"
    program.run(snapshots_of(api_server), program.parse_arguments(["models", "lab-files", "--keep=1"]), job)
    (wanted,) = [body for method, _, body in api_server.asked if method == "POST"]
    assert wanted["metadata"]["labels"]["tensorplane.dev/volume"] == "models"
    assert wanted["metadata"]["labels"]["tensorplane.dev/reason"] == "schedule"
    assert wanted["spec"]["source"] == {"persistentVolumeClaimName": "models"}
    assert [step for step in api_server.asked if step[0] in ("PATCH", "DELETE")] == [
        ("PATCH", f"{ROOT}/volumesnapshotcontents/content-older", {"spec": {"deletionPolicy": "Delete"}}),
        ("DELETE", f"{HERE}/older", None),
    ]


def test_what_a_volume_is_made_from_stays_though_it_is_past(api_server: FakeApiServer) -> None:
    name = "models-20261121-1600"
    hours = {"held": 15, "older": 14}
    items = [item(name, "2026-11-21T16:00:01Z"), *(item(one, f"2026-11-21T{at}:00:00Z") for one, at in hours.items())]
    api_server.answers = {("GET", f"{HERE}/{name}"): (200, items[0]), ("GET", HERE): (200, {"items": items})}
    program.run(
        snapshots_of(api_server), program.parse_arguments(["models", "lab-files", "--keep=1", "--hold=held"]), JOB
    )
    assert [path for method, path, _ in api_server.asked if method == "DELETE"] == [f"{HERE}/older"]


JOB = f"snapshots-models-{int(NOW.timestamp()) // 60}"


@pytest.mark.parametrize("keep", [2, 1])
def test_no_more_are_asked_for_while_as_many_as_stay_are_not_ready(api_server: FakeApiServer, keep: int) -> None:
    waiting = [item(f"waiting-{hour}", f"2026-11-21T{hour}:00:00Z", ready=False) for hour in (14, 15)]
    api_server.answers = {("GET", HERE): (200, {"items": [*waiting, item("older", "2026-11-21T13:00:00Z")]})}
    with pytest.raises(SystemExit, match=r"^models-20261121-1600: not taken, the newest \d are not ready") as ended:
        program.run(snapshots_of(api_server), program.parse_arguments(["models", "lab-files", f"--keep={keep}"]), JOB)
    assert f"waiting-{16 - keep} to waiting-15; see why with `kubectl describe" in str(ended.value)
    assert [method for method, _, _ in api_server.asked] == ["GET"]


def test_a_second_try_and_a_person_ask_whatever_is_not_ready(api_server: FakeApiServer) -> None:
    mine = item("models-20261121-1600", "2026-11-21T16:00:00Z", ready=False)
    api_server.answers = {("GET", HERE): (200, {"items": [mine]}), ("POST", HERE): (500, {})}
    for job in (JOB, "by-hand"):
        with pytest.raises(OSError, match="500"):
            program.run(snapshots_of(api_server), program.parse_arguments(["models", "lab-files", "--keep=1"]), job)


def test_a_driver_owes_no_more_than_stay_and_never_more_than_a_day_of_hours() -> None:
    owed = [hours_ago(hour, ready=False) for hour in range(AT_MOST_WAITING)]
    assert never_ready(owed, keep=3) == owed[:3]
    assert never_ready(owed, keep=1000) == owed
    assert never_ready(owed[1:], keep=1000) == []
    assert never_ready([hours_ago(0), *owed[1:]], keep=3) == []
    assert never_ready([*owed[:2], hours_ago(2)], keep=3) == []


def test_a_snapshot_whose_bytes_somebody_deleted_goes_too(api_server: FakeApiServer) -> None:
    api_server.answers = {("PATCH", f"{ROOT}/volumesnapshotcontents/content-older"): (404, {})}
    snapshots_of(api_server).delete(Snapshot("older", NOW, ready=True, content="content-older"))
    assert [method for method, _, _ in api_server.asked] == ["PATCH", "DELETE"]


def test_another_answer_of_the_api_server_ends_the_run_and_nothing_is_deleted(api_server: FakeApiServer) -> None:
    api_server.answers = {("POST", HERE): (403, {})}
    with pytest.raises(OSError, match="403"):
        program.run(snapshots_of(api_server), program.parse_arguments(["models", "lab-files", "--keep=1"]), "by-hand")
    assert [method for method, _, _ in api_server.asked] == ["POST"]
