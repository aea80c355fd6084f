"""Ceph's own mirrors: what a run does with Ceph's commands."""

from __future__ import annotations

import ast
import contextlib
import errno
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tensorplane.agents.ceph_mirror import __main__ as program
from tensorplane.components.agent import agent as agent_agent
from tensorplane.components.volumes.mirrors import ceph
from tests.unit.agents.fake_api_server import FakeApiServer

SITE = "91046889-a6aa-4f74-9fb0-f7bb111666b4"

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

    def run(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        """The same without a process."""
        out, error = io.StringIO(), io.StringIO()
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(error),
            pytest.raises(SystemExit) as ended,
        ):
            patch.setattr(sys, "argv", command)
            exec((self.folder / "ceph").read_text(), {})
        return subprocess.CompletedProcess(command, int(ended.value.code or 0), out.getvalue(), error.getvalue())

    def write(self, **state: Any) -> None:
        self.state.write_text(json.dumps({**(self.read() if self.state.exists() else {}), **state}))

    def read(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.state.read_text())
        return state


CLAIM = {"status": {"phase": "Bound"}, "spec": {"volumeName": "pvc-1"}}
ATTRIBUTES = {"fsName": "myfs", "subvolumeName": "csi-vol-1", "subvolumePath": "/volumes/csi/csi-vol-1/0b3e"}
VOLUME = {"spec": {"csi": {"volumeAttributes": ATTRIBUTES}}}
CLAIM_PATH = "/api/v1/namespaces/lab/persistentvolumeclaims/models"
VOLUME_PATH = "/api/v1/persistentvolumes/pvc-1"


@dataclass
class Pod:
    """Everything that a run finds."""

    ceph: FakeCeph
    api: FakeApiServer
    rook: Path

    def run(self, minute: int = 29_400_000, keep: int = 3, peer: str = SITE) -> int:
        os.environ["JOB_NAME"] = f"mirror-lab-models-{minute}"
        words = ["lab", "models", "--user=lab-mirrors", f"--peer={peer}", f"--keep={keep}"]
        return program.main(program.parse_arguments(words), self.api.client, self.rook)


@pytest.fixture
def installed(api_server: FakeApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pod:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("JOB_NAME", "")
    rook = tmp_path / "rook"
    for name, text in {
        "monitors/mon-endpoints": "a=10.0.0.1:6789,b-2=10.0.0.2:3300",
        "key/key": "AQD7",
        "settings/config": "[global]\nms_client_mode = secure\n",
    }.items():
        (rook / name).parent.mkdir(parents=True)
        (rook / name).write_text(text)
    api_server.answers = {("GET", CLAIM_PATH): (200, CLAIM), ("GET", VOLUME_PATH): (200, VOLUME)}
    api_server.unknown = (404, {})
    return Pod(FakeCeph(tmp_path), api_server, rook)


@pytest.fixture
def pod(installed: Pod, monkeypatch: pytest.MonkeyPatch) -> Pod:
    """The same, but for the time that Python takes to start for each command."""
    monkeypatch.setattr(subprocess, "run", installed.ceph.run)
    return installed


def test_the_code_is_of_ceph_s_image_s_python() -> None:
    for text in agent_agent.files("ceph_mirror").values():
        ast.parse(text, feature_version=(3, 9))


def test_a_run_mirrors_the_directory_above_what_pods_mount_and_takes_a_snapshot(installed: Pod) -> None:
    assert installed.run() == 0
    state = installed.ceph.read()
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


def test_every_command_of_a_run_is_one_that_its_user_may_run(pod: Pod) -> None:
    for minute in range(29_400_000, 29_400_060, 15):
        assert pod.run(minute) == 0
    asked = {" ".join(words[: 3 if words[2] == "info" else 4]) for words in pod.ceph.read()["asked"]}
    assert asked == set(ceph._COMMANDS)


def test_a_second_try_of_a_run_changes_nothing(pod: Pod) -> None:
    assert pod.run() == 0
    once = pod.ceph.read()
    assert pod.run() == 0
    twice = pod.ceph.read()
    assert (once["mirrored"], once["snapshots"]) == (twice["mirrored"], twice["snapshots"])


@pytest.mark.parametrize("step", range(6))
def test_whatever_ends_a_run_in_the_middle_the_next_one_goes_on(pod: Pod, step: int) -> None:
    pod.ceph.write(snapshots=["by-hand", "mirror-20251124-1500", "mirror-20251124-1515", "mirror-20251124-1530"])
    pod.ceph.write(dies_at=step)
    assert pod.run() == 1
    pod.ceph.write(dies_at=None)
    assert pod.run() == 0
    state = pod.ceph.read()
    assert state["mirrored"] == ["/volumes/csi/csi-vol-1"]
    assert state["snapshots"] == ["by-hand", "mirror-20251124-1515", "mirror-20251124-1530", "mirror-20251124-1600"]


def test_snapshots_do_not_pile_up_and_those_of_others_stay(pod: Pod) -> None:
    for minute in range(29_400_000, 29_400_150, 15):
        assert pod.run(minute) == 0
    assert pod.ceph.read()["snapshots"] == [
        "csi-snap-1",
        "by-hand",
        "mirror-20251124-1745",
        "mirror-20251124-1800",
        "mirror-20251124-1815",
    ]


def test_an_old_subvolume_is_its_directory_itself(pod: Pod) -> None:
    pod.ceph.write(features=["clone", "snapshot-autoprotect"])
    assert pod.run() == 0
    assert pod.ceph.read()["mirrored"] == ["/volumes/csi/csi-vol-1/0b3e"]


def test_a_claim_that_no_pod_has_mounted_waits(pod: Pod, capsys: pytest.CaptureFixture[str]) -> None:
    pod.api.answers["GET", CLAIM_PATH] = (200, {"status": {"phase": "Pending"}})
    assert pod.run() == 0
    assert capsys.readouterr().out == "models: not bound yet, a pod must mount it first\n"
    assert pod.ceph.read()["asked"] == []


@pytest.mark.parametrize(
    ("peers", "line"),
    [
        (["elsewhere"], f"models: file system myfs has no peer '{SITE}'; it has: elsewhere\n"),
        (
            [],
            "models: ceph fs snapshot mirror peer_list myfs: Error EINVAL: filesystem myfs is not mirrored\n",
        ),
    ],
)
def test_another_peer_is_one_line_and_nothing_is_touched(
    pod: Pod, capsys: pytest.CaptureFixture[str], peers: list[str], line: str
) -> None:
    pod.ceph.write(peers=peers)
    assert pod.run() == 1
    assert capsys.readouterr().err == line
    assert len(pod.ceph.read()["asked"]) == 1


def test_a_volume_of_another_driver_is_refused(pod: Pod, capsys: pytest.CaptureFixture[str]) -> None:
    pod.api.answers["GET", VOLUME_PATH] = (200, {"spec": {"nfs": {}}})
    assert pod.run() == 1
    assert "names no subvolume" in capsys.readouterr().err


def test_a_claim_that_is_gone_is_one_line(pod: Pod, capsys: pytest.CaptureFixture[str]) -> None:
    del pod.api.answers["GET", CLAIM_PATH]
    assert pod.run() == 1
    assert capsys.readouterr().err == f"models: {CLAIM_PATH[1:]}: HTTP Error 404: Not Found\n"
