"""Ceph's own mirrors: what is registered for them, and what the code beside Rook does with Ceph's commands."""

from __future__ import annotations

import ast
import errno
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import stack
from ceph_mirror import __main__ as program
from ceph_mirror.claim import Api
from components.settings import Settings
from components.volume import ceph_mirror
from tests.unit import rendering
from tests.unit.rendering import PROJECT, Rendered
from tests.unit.schema import Fields, differences
from tests.unit.test_bad_settings import faults_of

SITE = "91046889-a6aa-4f74-9fb0-f7bb111666b4"
TO_PEER = {"to": {"peer": SITE}, "every": "15m"}
OTHER = {"kind": "cephfs", "clusterId": "rook-two", "fileSystem": "fast"}
EXISTING = {"kind": "existing", "context": "lab"}

# The CRD of Rook's CephClient (rook@d0c3b9ce6, pkg/apis/ceph.rook.io/v1/types.go, ClientSpec).
CLIENT = Fields({"name": str, "secretName": str, "removeSecret": bool, "caps": {str: str}}, frozenset({"caps"}))


@cache
def made() -> Rendered:
    volumes: dict[str, dict[str, Any]] = {
        "models": {"backend": {"kind": "cephfs"}, "mirror": TO_PEER},
        "images": {"backend": {"kind": "cephfs"}, "mirror": {"to": {"peer": SITE}, "every": "1d"}},
        "logs": {"backend": OTHER, "mirror": TO_PEER},
        "plain": {"backend": {"kind": "cephfs"}},
    }
    tree = {"cluster": EXISTING, "volumes": {name: {"sizeGib": 10, **args} for name, args in volumes.items()}}
    return rendering.run(lambda: stack.build(stack.StackConfig.load(Settings(tree))))


def job_of(name: str) -> dict[str, Any]:
    spec = made().one("CronJob", f"mirror-{name}").inputs["spec"]
    pod: dict[str, Any] = spec["jobTemplate"]["spec"]["template"]["spec"]
    return pod


def test_each_mirrored_volume_has_a_job_beside_its_rook() -> None:
    found = {one.name: one.inputs for one in made().all("CronJob")}
    assert {name: one["metadata"]["namespace"] for name, one in found.items()} == {
        "mirror-models": "rook-ceph",
        "mirror-images": "rook-ceph",
        "mirror-logs": "rook-two",
    }
    spec = found["mirror-models"]["spec"]
    assert (spec["schedule"], spec["concurrencyPolicy"]) == ("*/15 * * * *", "Forbid")
    (container,) = job_of("models")["containers"]
    asked = program.parsed(container["command"][3:])
    assert (asked.namespace, asked.claim, asked.peer, asked.keep) == ("tensorplane-dev", "models", SITE, 48)


def test_names_fit_and_are_different_where_many_stacks_have_their_jobs() -> None:
    pairs = [("a-b", "c"), ("a", "b-c"), ("a", "c"), ("a", "m" * 63), ("a", "m" * 35 + "-x"), ("a", "m" * 35 + "-y")]
    names = {ceph_mirror._named(*pair) for pair in pairs}
    assert len(names) == len(pairs)
    assert max(len(name) for name in names) == 52
    assert not any("--" in name for name in names)


@pytest.mark.parametrize(("every", "kept"), [("1m", 48), ("15m", 48), ("1h", 24), ("6h", 4), ("1d", 4)])
def test_snapshots_of_a_day_stay_few_enough_for_ceph(every: str, kept: int) -> None:
    assert ceph_mirror.copies(every) == kept


def test_ceph_s_user_may_run_the_commands_of_a_run_on_one_file_system_and_no_other() -> None:
    clients = {one.name: one.inputs for one in made().all("CephClient")}
    assert all(list(differences("spec", one["spec"], CLIENT)) == [] for one in clients.values())
    client = clients["tensorplane-dev-ceph-mirrors-rook-two-fast"]
    assert (client["apiVersion"], client["metadata"]["namespace"]) == ("ceph.rook.io/v1", "rook-two")
    caps = client["spec"]["caps"]
    assert caps["mon"] == "allow r"
    # As Ceph's managers parse them: `command_match` in ceph's src/mgr/MgrCap.cc.
    assert all(re.fullmatch(r'allow command "[^"]+" with [\w./-]+="[^"]+"', one) for one in caps["mgr"].split(", "))
    assert caps["mgr"].split(", ")[:3] == [
        'allow command "fs snapshot mirror peer_list" with fs_name="fast"',
        'allow command "fs snapshot mirror add" with fs_name="fast"',
        'allow command "fs subvolume info" with vol_name="fast"',
    ]
    secret = next(one["secret"] for one in job_of("logs")["volumes"] if "secret" in one)
    user = client["metadata"]["name"]
    assert (secret["secretName"], secret["items"]) == (f"rook-ceph-client-{user}", [{"key": user, "path": "key"}])


def test_the_account_sees_the_mirrored_claims_and_volumes_and_the_admin_s_key_is_nowhere() -> None:
    role = made().one("Role", "tensorplane-dev-ceph-mirrors-rook-ceph").inputs
    (rule,) = role["rules"]
    assert (rule["resources"], rule["verbs"]) == (["persistentvolumeclaims"], ["get"])
    assert rule["resourceNames"] == ["images", "models"]
    (rule,) = made().one("ClusterRole", "tensorplane-dev-ceph-mirrors-rook-ceph").inputs["rules"]
    assert (rule["resources"], rule["verbs"]) == (["persistentvolumes"], ["get"])
    assert "rook-ceph-mon'" not in str([one.inputs for one in made().all("CronJob")])


def test_its_pods_are_restricted() -> None:
    pod = job_of("models")
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_code_is_of_ceph_s_image_s_python() -> None:
    for path in (PROJECT / "ceph_mirror").glob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 9))


@pytest.mark.parametrize(
    ("volume", "line"),
    [
        ({"mirror": {"to": {"peer": SITE}}}, "mirror.every: missing, the CronJob beside Rook needs a part of an hour"),
        ({"mirror": {**TO_PEER, "every": "7m"}}, "mirror.every: got 7m, the CronJob beside Rook needs a part of an"),
        ({"mirror": {**TO_PEER, "alert": True}}, "mirror.alert: given, and Ceph tells its lag elsewhere"),
        ({"mirror": {"to": {"peer": ""}, "every": "1h"}}, "mirror.to.peer: got '', need some text"),
        (
            {"mirror": TO_PEER, "accessModes": ["ReadOnlyMany"], "from": {"snapshot": "models-20261121-0400"}},
            "mirror.to.peer: given, and a volume that is a snapshot, mounted as it is, has no directory",
        ),
        (
            {"mirror": TO_PEER, "backend": {"kind": "nfs", "server": "nfs.example.com", "folder": "/data"}},
            "mirror.to.peer: backend nfs has no mirrors there, only to remote or volume; cephfs",
        ),
    ],
)
def test_what_ceph_cannot_mirror_is_one_line(volume: dict[str, Any], line: str) -> None:
    tree = {"cluster": EXISTING, "volumes": {"models": {"sizeGib": 1, "backend": {"kind": "cephfs"}, **volume}}}
    (found,) = faults_of(tree)
    assert found.removeprefix("tensorplane:volumes.models.").startswith(line)


# A cluster of Ceph's and of Kubernetes', as far as a run asks them.

FAKE = """#!{python}
import json, sys
state = json.load(open({state!r}))
words = sys.argv[1:]
at = words.index("fs")
reach, words = words[:at], words[at:]
state["asked"].append(words)
settings = dict(one.split("=", 1) for one in reach)
state["reach"] = {{
    "conf": open(settings["--conf"]).read(), "key": open(settings["--keyring"]).read(), "name": settings["--name"]
}}

def end(code=0, said="", answer=None):
    json.dump(state, open({state!r}, "w"))
    if said:
        print(said, file=sys.stderr)
    if answer is not None:
        print(json.dumps(answer))
    sys.exit(code)

if state["dies_at"] is not None and len(state["asked"]) > state["dies_at"]:
    end(110, "Error ETIMEDOUT: ")
if words[:4] == ["fs", "snapshot", "mirror", "peer_list"]:
    if not state["peers"]:
        end({invalid}, "Error EINVAL: filesystem myfs is not mirrored")
    end(answer={{str(n): {{"client_name": "client.mirror", "site_name": s, "fs_name": "myfs"}}
                for n, s in enumerate(state["peers"])}})
if words[:3] == ["fs", "subvolume", "info"]:
    assert words[3:] == ["myfs", "csi-vol-1", "--group_name", "csi"], words
    end(answer={{"path": "/volumes/csi/csi-vol-1/0b3e", "features": state["features"]}})
if words[:4] == ["fs", "snapshot", "mirror", "add"]:
    if words[5] in state["mirrored"]:
        end({exists}, "Error EEXIST: directory " + words[5] + " is already tracked")
    state["mirrored"].append(words[5])
    end(answer={{}})
assert words[:3] == ["fs", "subvolume", "snapshot"], words
if words[3] == "ls":
    end(answer=[{{"name": name}} for name in state["snapshots"]])
if words[3] == "create":
    state["snapshots"].append(words[6])
if words[3] == "rm":
    state["snapshots"].remove(words[6])
end()
"""


@dataclass
class FakeCeph:
    """An executable `ceph` that records what it is asked, and answers as Ceph's documentation says."""

    folder: Path

    def __post_init__(self) -> None:
        self.state = self.folder / "state.json"
        known = {"asked": [], "dies_at": None, "peers": [SITE], "mirrored": [], "snapshots": ["csi-snap-1", "by-hand"]}
        self.write(**known, features=["clone", "snapshot-retention"])
        words = {"invalid": errno.EINVAL, "exists": errno.EEXIST, "python": sys.executable, "state": str(self.state)}
        command = self.folder / "ceph"
        command.write_text(FAKE.format(**words))
        command.chmod(0o755)

    def write(self, **state: Any) -> None:
        self.state.write_text(json.dumps({**(self.read() if self.state.exists() else {}), **state}))

    def read(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.state.read_text())
        return state


CLAIM = {"status": {"phase": "Bound"}, "spec": {"volumeName": "pvc-1"}}
ATTRIBUTES = {"fsName": "myfs", "subvolumeName": "csi-vol-1", "subvolumePath": "/volumes/csi/csi-vol-1/0b3e"}
VOLUME = {"spec": {"csi": {"volumeAttributes": ATTRIBUTES}}}


class Answers(BaseHTTPRequestHandler):
    """An API server that has one claim and one volume."""

    objects: dict[str, Any]

    def do_GET(self) -> None:  # the name that the base class calls
        assert self.headers["Authorization"] == "Bearer secret"
        self.send_response(200 if self.path in self.objects else 404)
        self.end_headers()
        self.wfile.write(json.dumps(self.objects.get(self.path)).encode())

    def log_message(self, *args: Any) -> None:
        pass


@dataclass
class Place:
    """Everything that a run finds."""

    ceph: FakeCeph
    api: Api
    rook: Path
    objects: dict[str, Any]

    def run(self, minute: int = 29_400_000, keep: int = 3, peer: str = SITE) -> int:
        os.environ["JOB_NAME"] = f"mirror-lab-models-{minute}"
        words = ["lab", "models", "--user=lab-mirrors", f"--peer={peer}", f"--keep={keep}"]
        return program.main(program.parsed(words), self.api, self.rook)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("JOB_NAME", "")
    monkeypatch.setattr("ssl.create_default_context", lambda cafile: None)
    (tmp_path / "token").write_text("secret")
    rook = tmp_path / "rook"
    for name, text in {
        "monitors/mon-endpoints": "a=10.0.0.1:6789,b-2=10.0.0.2:3300",
        "key/key": "AQD7",
        "settings/config": "[global]\nms_client_mode = secure\n",
    }.items():
        (rook / name).parent.mkdir(parents=True)
        (rook / name).write_text(text)
    objects = {
        "/api/v1/namespaces/lab/persistentvolumeclaims/models": CLAIM,
        "/api/v1/persistentvolumes/pvc-1": VOLUME,
    }
    server = HTTPServer(("127.0.0.1", 0), type("Handler", (Answers,), {"objects": objects}))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    api = Api(f"http://127.0.0.1:{server.server_port}", tmp_path)
    yield Place(FakeCeph(tmp_path), api, rook, objects)
    server.shutdown()
    server.server_close()


def test_a_run_mirrors_the_directory_above_what_pods_mount_and_takes_a_snapshot(place: Place) -> None:
    assert place.run() == 0
    state = place.ceph.read()
    here = ["myfs", "csi-vol-1"]
    group = ["--group_name", "csi"]
    name = "mirror-20251124-1600"
    assert state["asked"] == [
        ["fs", "snapshot", "mirror", "peer_list", "myfs"],
        ["fs", "subvolume", "info", *here, *group],
        ["fs", "snapshot", "mirror", "add", "myfs", "/volumes/csi/csi-vol-1"],
        ["fs", "subvolume", "snapshot", "ls", *here, *group],
        ["fs", "subvolume", "snapshot", "create", *here, name, *group],
    ]
    assert state["reach"]["name"] == "client.lab-mirrors"
    assert "mon_host = 10.0.0.1:6789,10.0.0.2:3300\n" in state["reach"]["conf"]
    assert "ms_client_mode = secure" in state["reach"]["conf"]
    assert state["reach"]["key"] == "[client.lab-mirrors]\nkey = AQD7\n"


def test_every_command_of_a_run_is_one_that_its_user_may_run(place: Place) -> None:
    for minute in range(29_400_000, 29_400_060, 15):
        assert place.run(minute) == 0
    asked = {" ".join(words[: 3 if words[2] == "info" else 4]) for words in place.ceph.read()["asked"]}
    assert asked == set(ceph_mirror._COMMANDS)


def test_a_second_try_of_a_run_changes_nothing(place: Place) -> None:
    assert place.run() == 0
    once = place.ceph.read()
    assert place.run() == 0
    twice = place.ceph.read()
    assert (once["mirrored"], once["snapshots"]) == (twice["mirrored"], twice["snapshots"])


@pytest.mark.parametrize("step", range(6))
def test_whatever_ends_a_run_in_the_middle_the_next_one_goes_on(place: Place, step: int) -> None:
    place.ceph.write(snapshots=["by-hand", "mirror-20251124-1500", "mirror-20251124-1515", "mirror-20251124-1530"])
    place.ceph.write(dies_at=step)
    assert place.run() == 1
    place.ceph.write(dies_at=None)
    assert place.run() == 0
    state = place.ceph.read()
    assert state["mirrored"] == ["/volumes/csi/csi-vol-1"]
    assert state["snapshots"] == ["by-hand", "mirror-20251124-1515", "mirror-20251124-1530", "mirror-20251124-1600"]


def test_snapshots_do_not_pile_up_and_those_of_others_stay(place: Place) -> None:
    for minute in range(29_400_000, 29_400_150, 15):
        assert place.run(minute) == 0
    assert place.ceph.read()["snapshots"] == [
        "csi-snap-1",
        "by-hand",
        "mirror-20251124-1745",
        "mirror-20251124-1800",
        "mirror-20251124-1815",
    ]


def test_an_old_subvolume_is_its_directory_itself(place: Place) -> None:
    place.ceph.write(features=["clone", "snapshot-autoprotect"])
    assert place.run() == 0
    assert place.ceph.read()["mirrored"] == ["/volumes/csi/csi-vol-1/0b3e"]


def test_a_claim_that_no_pod_has_mounted_waits(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.objects["/api/v1/namespaces/lab/persistentvolumeclaims/models"] = {"status": {"phase": "Pending"}}
    assert place.run() == 0
    assert capsys.readouterr().out == "models: not bound yet, a pod must mount it first\n"
    assert place.ceph.read()["asked"] == []


@pytest.mark.parametrize(
    ("peers", "line"),
    [
        (["elsewhere"], f"models: file system myfs has no peer '{SITE}', it has: elsewhere\n"),
        (
            [],
            "models: ceph fs snapshot mirror peer_list myfs: Error EINVAL: filesystem myfs is not mirrored\n",
        ),
    ],
)
def test_another_peer_is_one_line_and_nothing_is_touched(
    place: Place, capsys: pytest.CaptureFixture[str], peers: list[str], line: str
) -> None:
    place.ceph.write(peers=peers)
    assert place.run() == 1
    assert capsys.readouterr().err == line
    assert len(place.ceph.read()["asked"]) == 1


def test_a_volume_of_another_driver_is_refused(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.objects["/api/v1/persistentvolumes/pvc-1"] = {"spec": {"nfs": {}}}
    assert place.run() == 1
    assert "is none that Ceph's driver made" in capsys.readouterr().err


def test_a_claim_that_is_gone_is_one_line(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    claim = "/api/v1/namespaces/lab/persistentvolumeclaims/models"
    del place.objects[claim]
    assert place.run() == 1
    assert capsys.readouterr().err == f"models: {claim[1:]}: HTTP Error 404: Not Found\n"


def test_it_starts_as_the_job_starts_it() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "ceph_mirror", "--help"], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert "--peer" in said.stdout
