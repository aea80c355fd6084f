"""An instance that was killed, stopped or broken at any point comes back, and leaves nothing when it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.driver import status
from tensorplane.embedded import cluster
from tensorplane.embedded.cluster import processes
from tensorplane.embedded.cluster.host import run
from tensorplane.embedded.instance import Instance
from tests.cluster.remains import remains
from tests.cluster.starter import PLACES, STAYS
from tests.support.waiting import PATIENT_SECONDS, eventually

pytestmark = pytest.mark.nightly("starts a cluster two dozen times")


def test_the_look_for_remains_sees_a_running_cluster(instance: Instance) -> None:
    kinds = {line.partition(":")[0] for line in remains(instance)}
    assert kinds == {"process", "mount", "interface", "namespace", "route", "cgroup", "file"}


def test_it_mounts_nothing_on_folders_that_another_instance_may_remove(instance: Instance) -> None:
    alive = processes.find(instance)
    assert alive
    theirs, ours = (
        {line.split()[4] for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()}
        for pid in (alive.pid, "self")
    )
    assert "/run" in theirs
    kept = ("/run", "/proc/", "/var/log", str(instance.home))
    assert {target for target in theirs - ours if not target.startswith(kept)} == set()


def test_an_instance_that_runs_from_another_home_is_left_alone(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = processes.find(instance)
    with monkeypatch.context() as elsewhere, pytest.raises(UserError, match="already running with its data in"):
        elsewhere.setenv("XDG_STATE_HOME", str(tmp_path))
        cluster.start(Instance(instance.name), Step("cluster"))
    assert processes.find(instance) == before


def test_nothing_remains_after_stop_but_the_data(instance: Instance, api: Objects) -> None:
    meta = {"name": "kept", "namespace": "default"}
    api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}}, manager="test")
    cluster.stop(instance)
    assert remains(instance) == []
    assert not cluster.is_running(instance)
    assert "stopped" in str(status.report_embedded(instance))
    cluster.stop(instance)

    cluster.start(instance, Step("cluster"))
    kept = Kube.of(instance.kubeconfig).get("/api/v1/namespaces/default/configmaps/kept")
    assert kept
    assert kept["data"] == {"a": "b"}


def test_a_killed_supervisor_takes_everything_along_and_start_repairs_it(instance: Instance) -> None:
    alive = processes.find(instance)
    assert alive
    os.kill(alive.pid, signal.SIGKILL)
    eventually(lambda: not [line for line in remains(instance) if line.startswith("process")])
    assert not cluster.is_running(instance)

    cluster.start(instance, Step("cluster"))
    assert cluster.is_running(instance)


@pytest.mark.parametrize("component", ["etcd", "containerd", "kubelet", "kube-apiserver"])
def test_a_killed_component_comes_back_by_itself(instance: Instance, component: str) -> None:
    pid = _pid(instance, component)
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: pid not in _pids(instance, component))
    # Commands ask a cluster that repairs itself; only one that was stopped needs `make up`.
    assert cluster.is_running(instance)
    eventually(lambda: _pids(instance, component) not in ([], [pid]))
    cluster.start(instance, Step("cluster"))


def _pid(instance: Instance, component: str) -> int:
    """Its process. What it starts is a second one of its name until that runs its own program."""
    eventually(lambda: len(_pids(instance, component)) == 1)
    return _pids(instance, component)[0]


def _pids(instance: Instance, component: str) -> list[int]:
    found = []
    for pid in processes.members(instance):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if command[0].decode().endswith(f"/{component}"):
            found.append(pid)
    return found


def test_a_lost_uplink_is_recreated(instance: Instance) -> None:
    run("ip", "link", "delete", instance.uplink)
    cluster.start(instance, Step("cluster"))
    assert cluster.is_running(instance)


def _start(place: str) -> subprocess.Popen[str]:
    """A process that starts the instance, and ends, or stays for ever, at that place."""
    program = [sys.executable, "-m", "tests.cluster.starter", place]
    return subprocess.Popen(program, cwd=PROJECT, stderr=subprocess.PIPE, text=True)


def _errors(starter: subprocess.Popen[str]) -> str:
    """What it prints until it ends."""
    try:
        return starter.communicate(timeout=PATIENT_SECONDS)[1]
    finally:
        starter.kill()


def _killed(place: str) -> None:
    with _start(place) as starter:
        errors = _errors(starter)
    assert starter.returncode == -signal.SIGKILL, errors


@pytest.mark.parametrize("place", PLACES)
def test_a_starter_killed_anywhere_is_made_good_by_the_next(shared: Instance, place: str) -> None:
    cluster.stop(shared)
    _killed(place)
    cluster.start(shared, Step("cluster"))
    assert cluster.is_running(shared)


def test_nothing_remains_of_killed_starters_after_stop(shared: Instance) -> None:
    cluster.stop(shared)
    for place in PLACES:
        _killed(place)
    cluster.stop(shared)
    assert remains(shared) == []


def test_a_supervisor_that_ends_half_way_is_one_line(shared: Instance) -> None:
    cluster.stop(shared)
    with _start(STAYS) as starter:
        eventually(lambda: _pids(shared, "kube-apiserver"))
        alive = processes.find(shared)
        assert alive
        os.kill(alive.pid, signal.SIGKILL)
        errors = _errors(starter)
    assert f"Fault: cluster {shared.name}: its supervisor ended while the cluster started" in errors
    assert "run `make up` again" in errors


def test_a_component_that_keeps_crashing_is_named_with_its_log(shared: Instance) -> None:
    cluster.stop(shared)
    database = shared.home / "etcd/member/snap/db"
    shutil.copy(database, saved := shared.home / "db.saved")
    database.write_bytes(b"not a database")
    try:
        with pytest.raises(UserError) as fault:
            cluster.start(shared, Step("cluster"))
    finally:
        cluster.stop(shared)
        saved.replace(database)
    assert "etcd keeps crashing:" in fault.value.lines[0]
    assert str(shared.home / "logs/etcd.log") in fault.value.lines[0]
