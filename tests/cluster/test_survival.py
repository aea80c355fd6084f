"""An instance that was killed, stopped or broken at any point comes back, and leaves nothing when it ends."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from driver import status
from driver.kube import Kube
from embedded import cluster
from embedded.cluster import processes
from embedded.cluster.host import run
from embedded.fault import Fault
from embedded.paths import PROJECT, Instance
from embedded.provider.api import Api
from embedded.step import Step
from tests.support.waiting import PATIENT_SECONDS, eventually

_START = """
from embedded import cluster
from embedded.paths import Instance
from embedded.step import Step
cluster.start(Instance.current(), Step("cluster"))
"""


def remains(instance: Instance) -> list[str]:
    """What this machine shows of the instance, looked for by other means than the code's own."""
    looks = {
        "mount": f"grep -E '{instance.home}|{instance.run}|{instance.namespace}' /proc/self/mountinfo",
        "interface": f"ip -br link | grep -E '{instance.uplink}|pods0'",
        "namespace": f"ip netns list | grep -w {instance.namespace}",
        "route": f"ip route show table all | grep -E '{instance.uplink}|{instance.pod_cidr}|{instance.service_cidr}'",
        "packet rules": "nft list ruleset | grep -E 'tensorplane|kube-proxy'",
        "cgroup": f"find /sys/fs/cgroup -name '{instance.namespace}*'",
        "file": f"find /run/tensorplane /run/netns /var/lib/cni -path '*{instance.namespace}*' 2>/dev/null",
    }
    found = {
        what: subprocess.run(look, shell=True, capture_output=True, text=True).stdout for what, look in looks.items()
    }
    lines = [f"{what}: {line}" for what, text in found.items() for line in text.splitlines()]
    return lines + [f"process: {pid}" for pid in _processes(instance)]


def _processes(instance: Instance) -> list[str]:
    """Those that name the instance's home, or are in its cgroup; not the dead that wait for their parent."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command, groups = (folder / "cmdline").read_bytes().decode(), (folder / "cgroup").read_text()
                is_dead = "State:\tZ" in (folder / "status").read_text()
            except OSError:
                continue
            if not is_dead and (str(instance.home) in command or f"/{instance.namespace}/" in groups):
                found.append(folder.name)
    return found


def test_the_look_for_remains_sees_a_running_cluster(instance: Instance) -> None:
    cluster.start(instance, Step("cluster"))
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
    cluster.start(instance, Step("cluster"))
    before = processes.find(instance)
    with monkeypatch.context() as elsewhere, pytest.raises(Fault, match="already running with its data in"):
        elsewhere.setenv("XDG_STATE_HOME", str(tmp_path))
        cluster.start(Instance(instance.name), Step("cluster"))
    assert processes.find(instance) == before


def test_nothing_remains_after_stop_but_the_data(instance: Instance, api: Api) -> None:
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
    cluster.start(instance, Step("cluster"))
    alive = processes.find(instance)
    assert alive
    os.kill(alive.pid, signal.SIGKILL)
    eventually(lambda: not [line for line in remains(instance) if line.startswith("process")])
    assert not cluster.is_running(instance)

    cluster.start(instance, Step("cluster"))
    assert cluster.is_running(instance)


@pytest.mark.parametrize("component", ["etcd", "containerd", "kubelet", "kube-apiserver"])
def test_a_killed_component_comes_back_by_itself(instance: Instance, component: str) -> None:
    cluster.start(instance, Step("cluster"))
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
    cluster.start(instance, Step("cluster"))
    run("ip", "link", "delete", instance.uplink)
    cluster.start(instance, Step("cluster"))
    assert cluster.is_running(instance)


def test_a_starter_killed_at_any_moment_is_made_good_by_the_next(instance: Instance) -> None:
    moments = [0.3, 0.6, 0.9, 1.2, 2.0, 3.5]
    random.Random(int(time.time())).shuffle(moments)
    for seconds in moments:
        starter = subprocess.Popen([sys.executable, "-c", _START], cwd=PROJECT, start_new_session=True)
        time.sleep(seconds)
        os.killpg(starter.pid, signal.SIGKILL)
        starter.wait()
        if seconds == moments[2]:
            cluster.stop(instance)
            assert remains(instance) == []
    cluster.start(instance, Step("cluster"))
    assert cluster.is_running(instance)


def test_a_supervisor_that_ends_half_way_is_one_line(instance: Instance) -> None:
    cluster.stop(instance)
    starter = subprocess.Popen([sys.executable, "-c", _START], cwd=PROJECT, stderr=subprocess.PIPE, text=True)
    # A server that is halted never gets ready: the start is half way until its supervisor ends.
    os.kill(eventually(lambda: _pids(instance, "kube-apiserver"))[0], signal.SIGSTOP)
    alive = processes.find(instance)
    assert alive
    os.kill(alive.pid, signal.SIGKILL)
    _, errors = starter.communicate(timeout=PATIENT_SECONDS)
    assert f"Fault: cluster {instance.name}: its supervisor ended while the cluster started" in errors
    assert "run `make up` again" in errors


def test_a_component_that_keeps_crashing_is_named_with_its_log(instance: Instance) -> None:
    cluster.stop(instance)
    database = instance.home / "etcd/member/snap/db"
    shutil.copy(database, saved := instance.home / "db.saved")
    database.write_bytes(b"not a database")
    try:
        with pytest.raises(Fault) as fault:
            cluster.start(instance, Step("cluster"))
    finally:
        cluster.stop(instance)
        saved.replace(database)
    assert "etcd keeps crashing:" in fault.value.lines[0]
    assert str(instance.home / "logs/etcd.log") in fault.value.lines[0]


@pytest.fixture
def taken_address(instance: Instance) -> Iterator[str]:
    """Another interface of this machine that holds an address of the pods' range."""
    cluster.stop(instance)
    run("ip", "link", "add", "tp-taken", "type", "bridge")
    run("ip", "address", "add", instance.pod_cidr.replace(".0/24", ".77/25"), "dev", "tp-taken")
    run("ip", "link", "set", "tp-taken", "up")
    yield "tp-taken"
    run("ip", "link", "delete", "tp-taken")


def test_an_address_range_in_use_is_one_line(instance: Instance, taken_address: str) -> None:
    with pytest.raises(Fault) as fault:
        cluster.start(instance, Step("cluster"))
    [line] = fault.value.lines
    assert f"{instance.pod_cidr}: the embedded cluster requires this range, but" in line
    assert taken_address in line
    assert remains(instance) == []


def test_a_full_disk_is_one_line(instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.stop(instance)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    run("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(tmp_path))
    try:
        with pytest.raises(Fault, match=r"0\.1 GiB are free, but the cluster requires 2") as fault:
            cluster.start(Instance(instance.name), Step("cluster"))
    finally:
        run("umount", str(tmp_path))
    assert len(fault.value.lines) == 1
