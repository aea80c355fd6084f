"""Scheduled snapshots: what is registered for them, and what the code in the cluster does."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import stack
from components import controllers
from components.settings import Settings
from snapshotter import __main__ as program
from snapshotter.api import Api
from snapshotter.retention import AT_MOST_WAITING, GIVE_UP, Snapshot, past, stuck
from tests.unit import rendering
from tests.unit.rendering import Rendered

NOW = datetime(2026, 11, 21, 16, tzinfo=UTC)
FILES = {"kind": "storageClass", "name": "files", "driver": "files.csi.example"}


@pytest.fixture(scope="module")
def made() -> Rendered:
    volumes = {
        "models": {"sizeGib": 10, "backend": FILES, "snapshots": {"schedule": "@hourly", "keep": 3, "expire": "2d"}},
        "copy": {"sizeGib": 10, "backend": FILES, "from": {"volume": "models"}},
        "old": {"sizeGib": 10, "backend": FILES, "from": {"snapshot": "models-20261121-0400"}},
    }
    tree = {"cluster": {"kind": "existing", "context": "lab"}, "volumes": volumes}
    return rendering.run(lambda: stack.build(stack.StackConfig.load(Settings(tree))))


def hours_ago(hours: float, *, ready: bool = True) -> Snapshot:
    return Snapshot(f"at-{hours}", NOW - timedelta(hours=hours), ready)


def test_the_class_retains_and_is_the_driver_s(made: Rendered) -> None:
    found = made.one("VolumeSnapshotClass").inputs
    assert (found["driver"], found["deletionPolicy"]) == ("files.csi.example", "Retain")


def test_the_schedule_says_which_snapshots_stay(made: Rendered) -> None:
    spec = made.one("CronJob").inputs["spec"]
    assert (spec["schedule"], spec["timeZone"], spec["concurrencyPolicy"]) == ("0 * * * *", "Etc/UTC", "Forbid")
    (container,) = spec["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    words = container["command"][3:]
    arguments = program.parsed(words)
    assert (arguments.volume, arguments.keep, arguments.expire) == ("models", 3, 48 * 3600)
    assert arguments.snapshot_class == made.one("VolumeSnapshotClass").inputs["metadata"]["name"]


def test_its_pods_are_restricted_and_may_only_take_and_expire_snapshots(made: Rendered) -> None:
    pod = made.one("CronJob").inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    (in_namespace,), (everywhere,) = (made.one(kind).inputs["rules"] for kind in ("Role", "ClusterRole"))
    assert (in_namespace["resources"], in_namespace["verbs"]) == (
        ["volumesnapshots"],
        ["get", "list", "create", "delete"],
    )
    assert (everywhere["resources"], everywhere["verbs"]) == (["volumesnapshotcontents"], ["patch"])
    policy = made.one("ValidatingAdmissionPolicy").inputs["spec"]
    assert "system:serviceaccount:tensorplane-dev:volume.snapshots" in policy["matchConditions"][0]["expression"]
    assert policy["validations"][0]["expression"] == "oldObject.spec.volumeSnapshotRef.namespace == 'tensorplane-dev'"


def test_a_restored_and_a_cloned_volume_name_their_origin(made: Rendered) -> None:
    origins = {r.name: r.inputs["spec"].get("dataSource") for r in made.all("PersistentVolumeClaim")}
    assert origins == {
        "models": None,
        "copy": {"kind": "PersistentVolumeClaim", "name": "models"},
        "old": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "models-20261121-0400"},
    }
    assert "PersistentVolumeClaim models" in made.one("PersistentVolumeClaim", "copy").options["dependsOn"]


def test_nothing_of_it_is_there_without_a_schedule() -> None:
    tree = {"cluster": {"kind": "existing", "context": "lab"}, "volumes": {"models": {"sizeGib": 1, "backend": FILES}}}
    plain = rendering.run(lambda: stack.build(stack.StackConfig.load(Settings(tree))))
    assert not [r for r in plain.resources if "napshot" in f"{r.type} {r.name}"]


def test_the_newest_stay() -> None:
    all_of_them = [hours_ago(h) for h in (3, 1, 4, 2)]
    assert [one.name for one in past(all_of_them, NOW, keep=2, expire=None)] == ["at-4", "at-3"]


def test_one_expires_though_there_is_room_but_never_the_newest() -> None:
    limit = timedelta(hours=2)
    assert [one.name for one in past([hours_ago(h) for h in (1, 3)], NOW, keep=9, expire=limit)] == ["at-3"]
    assert past([hours_ago(3)], NOW, keep=9, expire=limit) == []


def test_what_is_not_ready_neither_counts_nor_goes_before_it_has_failed() -> None:
    half_made, failed = hours_ago(1, ready=False), hours_ago(GIVE_UP / timedelta(hours=1) + 1, ready=False)
    assert past([half_made, failed], NOW, keep=1, expire=timedelta(hours=1)) == []
    assert past([half_made, failed, hours_ago(2)], NOW, keep=1, expire=None) == [failed]


def test_retention_leaves_what_it_promises_whatever_there_is() -> None:
    chance = random.Random(7)
    for _ in range(300):
        ages = chance.sample(range(90), chance.randint(0, 12))
        there = [hours_ago(age, ready=chance.random() < 0.8) for age in ages]
        keep, limit = chance.randint(1, 5), timedelta(hours=chance.randint(1, 60))
        gone = past(there, NOW, keep=keep, expire=limit)
        left = [one for one in there if one not in gone and one.ready]
        ready = [one for one in there if one.ready]
        assert bool(left) == bool(ready)
        assert not ready or max(one.taken for one in left) == max(one.taken for one in ready)
        assert len(left) <= keep


def test_a_second_try_is_the_same_snapshot_and_a_job_of_a_person_is_another() -> None:
    due = int(NOW.timestamp()) // 60
    later = NOW + timedelta(minutes=3, seconds=9)
    assert program.named("models", f"snapshots-models-{due}", later) == ("models-20261121-1600", "schedule")
    assert program.named("models", "before-migration", later) == ("models-20261121-160309", "manual")


class Fake(BaseHTTPRequestHandler):
    """An API server with the few paths that are asked for; what it was asked is kept in `asked`."""

    asked: list[tuple[str, str, Any]]
    answers: dict[tuple[str, str], tuple[int, Any]]

    def _answer(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        self.asked.append((self.command, self.path, body))
        code, answer = self.answers.get((self.command, self.path.partition("?")[0]), (200, {}))
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815  # the names that the base class calls

    def log_message(self, *args: Any) -> None:
        pass


ROOT = "/apis/snapshot.storage.k8s.io/v1"
HERE = f"{ROOT}/namespaces/lab/volumesnapshots"


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Api, type[Fake]]]:
    (tmp_path / "token").write_text("secret")
    monkeypatch.setattr("ssl.create_default_context", lambda cafile: None)
    handler = type("Handler", (Fake,), {"asked": [], "answers": {}})
    server = HTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield Api("lab", f"http://127.0.0.1:{server.server_port}", tmp_path), handler
    server.shutdown()
    server.server_close()


def item(name: str, taken: str, *, ready: bool = True, **metadata: Any) -> dict[str, Any]:
    status = {"readyToUse": ready, "creationTime": taken, "boundVolumeSnapshotContentName": f"content-{name}"}
    return {"metadata": {"name": name, "creationTimestamp": taken, **metadata}, "status": status}


def test_a_run_takes_one_and_gives_up_the_bytes_of_what_is_past(fake: tuple[Api, type[Fake]]) -> None:
    api, server = fake
    name = "models-20261121-1600"
    items = [
        item(name, "2026-11-21T16:00:01Z"),
        item("older", "2026-11-21T15:00:00Z"),
        item("leaving", "2026-11-21T14:00:00Z", deletionTimestamp="2026-11-21T15:30:00Z"),
    ]
    # A second try: the first one has asked for this snapshot already.
    server.answers = {
        ("POST", HERE): (409, {}),
        ("GET", f"{HERE}/{name}"): (200, items[0]),
        ("GET", HERE): (200, {"items": items}),
    }
    job = f"snapshots-models-{int(NOW.timestamp()) // 60}"
    program.run(api, program.parsed(["models", "lab-files", "--keep=1"]), job)
    (wanted,) = [body for method, _, body in server.asked if method == "POST"]
    assert wanted["metadata"]["labels"]["tensorplane.dev/volume"] == "models"
    assert wanted["metadata"]["labels"]["tensorplane.dev/reason"] == "schedule"
    assert wanted["spec"]["source"] == {"persistentVolumeClaimName": "models"}
    assert [step for step in server.asked if step[0] in ("PATCH", "DELETE")] == [
        ("PATCH", f"{ROOT}/volumesnapshotcontents/content-older", {"spec": {"deletionPolicy": "Delete"}}),
        ("DELETE", f"{HERE}/older", None),
    ]


JOB = f"snapshots-models-{int(NOW.timestamp()) // 60}"


@pytest.mark.parametrize("keep", [2, 1])
def test_no_more_are_asked_for_while_as_many_as_stay_are_not_ready(fake: tuple[Api, type[Fake]], keep: int) -> None:
    api, server = fake
    waiting = [item(f"waiting-{hour}", f"2026-11-21T{hour}:00:00Z", ready=False) for hour in (14, 15)]
    server.answers = {("GET", HERE): (200, {"items": [*waiting, item("older", "2026-11-21T13:00:00Z")]})}
    with pytest.raises(SystemExit, match=r"^models-20261121-1600: not taken, the last \d are not ready") as ended:
        program.run(api, program.parsed(["models", "lab-files", f"--keep={keep}"]), JOB)
    assert f"waiting-{16 - keep} to waiting-15: `kubectl describe`" in str(ended.value)
    assert [method for method, _, _ in server.asked] == ["GET"]


def test_a_second_try_and_a_person_ask_whatever_is_not_ready(fake: tuple[Api, type[Fake]]) -> None:
    api, server = fake
    mine = item("models-20261121-1600", "2026-11-21T16:00:00Z", ready=False)
    server.answers = {("GET", HERE): (200, {"items": [mine]}), ("POST", HERE): (500, {})}
    for job in (JOB, "by-hand"):
        with pytest.raises(OSError, match="500"):
            program.run(api, program.parsed(["models", "lab-files", "--keep=1"]), job)


def test_a_driver_owes_no_more_than_stay_and_never_more_than_a_day_of_hours() -> None:
    owed = [hours_ago(hour, ready=False) for hour in range(AT_MOST_WAITING)]
    assert stuck(owed, keep=3) == owed[:3]
    assert stuck(owed, keep=1000) == owed
    assert stuck(owed[1:], keep=1000) == []
    assert stuck([hours_ago(0), *owed[1:]], keep=3) == []
    assert stuck([*owed[:2], hours_ago(2)], keep=3) == []


def test_a_snapshot_whose_bytes_somebody_deleted_goes_too(fake: tuple[Api, type[Fake]]) -> None:
    api, server = fake
    server.answers = {("PATCH", f"{ROOT}/volumesnapshotcontents/content-older"): (404, {})}
    api.delete(Snapshot("older", NOW, ready=True, content="content-older"))
    assert [method for method, _, _ in server.asked] == ["PATCH", "DELETE"]


def test_another_answer_of_the_api_server_ends_the_run_and_nothing_is_deleted(fake: tuple[Api, type[Fake]]) -> None:
    api, server = fake
    server.answers = {("POST", HERE): (403, {})}
    with pytest.raises(OSError, match="403"):
        program.run(api, program.parsed(["models", "lab-files", "--keep=1"]), "by-hand")
    assert [method for method, _, _ in server.asked] == ["POST"]


def test_kueue_takes_jobsets_alone_and_another_kueue_gets_no_queue_that_takes_all() -> None:
    values = controllers.kueue_values()["managerConfig"]["controllerManagerConfigYaml"]
    assert json.loads(values)["integrations"] == {"frameworks": ["jobset.x-k8s.io/jobset"]}

    def faults(kueue: str, queue: str) -> list[str]:
        tree = {
            "cluster": {"kind": "existing", "context": "lab"},
            "controllers": {"kueue": kueue},
            "queues": {queue: {"cpus": 1, "memoryGib": 1}},
            "volumes": {"models": {"sizeGib": 1, "backend": FILES, "snapshots": {"schedule": "@daily"}}},
        }
        return [str(fault) for fault in stack.StackConfig.model_validate(tree).check(Settings(tree))]

    (only,) = faults("present", "default")
    assert only.startswith("tensorplane:queues.default: the cluster's Kueue may let the pods wait in it")
    assert faults("chart", "default") == faults("present", "training") == []
