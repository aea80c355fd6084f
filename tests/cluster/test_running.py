"""What a running cluster offers to pods, and what they do not reach."""

from __future__ import annotations

import contextlib
import socket
import threading
import urllib.request
from collections.abc import Iterator

import pytest

from bench import memory
from tensorplane.core.gvk import GVK
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.core.step import Step
from tensorplane.embedded import cluster
from tensorplane.embedded.cluster import network, processes
from tensorplane.embedded.cluster.host import run
from tensorplane.embedded.cluster.image_store import ImageStore
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.cluster.supervisor import Supervisor
from tensorplane.embedded.instance import Instance
from tensorplane.toolchain import tools
from tests.cluster import shell
from tests.support.status_lines import status_lines
from tests.support.waiting import PATIENT_SECONDS, eventually

pytestmark = pytest.mark.nightly("a cluster of its own; tests/e2e/test_cluster_security.py asks one that runs anyway")


def test_a_pod_resolves_services(shell_pod: shell.Pod, instance: Instance) -> None:
    for name, address in (
        ("kubernetes.default", instance.service_cidr.replace(".0/24", ".1")),
        ("shell.default", shell_pod.service_address()),
    ):
        status, output = shell_pod.run("nslookup", f"{name}.svc.cluster.local")
        assert status == 0, output
        assert address in output
    # Short names work through this; BusyBox's own resolver does not read it.
    _, resolver = shell_pod.run("cat", "/etc/resolv.conf")
    assert resolver.splitlines()[:2] == [
        "search default.svc.cluster.local svc.cluster.local cluster.local",
        f"nameserver {instance.dns_ip}",
    ]


def test_a_name_outside_the_cluster_is_refused(shell_pod: shell.Pod) -> None:
    """With an answer: nobody waits for one that does not come."""
    status, output = shell_pod.run("nslookup", "example.com")
    assert status != 0
    assert "REFUSED" in output


def test_a_pod_reaches_itself_and_others_through_a_service(shell_pod: shell.Pod) -> None:
    assert shell.PAGE in shell_pod.ask(shell_pod.service_address(), 80, "GET /index.html HTTP/1.0")


def test_the_host_reaches_services_and_pods(shell_pod: shell.Pod) -> None:
    for address in (shell_pod.service_address(), f"{shell_pod.status()['podIP']}:{shell.PORT}"):
        with urllib.request.urlopen(f"http://{address}/index.html", timeout=PATIENT_SECONDS) as answer:
            assert answer.read().decode().strip() == shell.PAGE


def test_the_api_server_reads_a_pods_log_through_the_kubelet(kube: Kube, shell_pod: shell.Pod) -> None:
    status, _ = shell_pod.run("sh", "-c", "echo a line for the log > /proc/1/fd/1")
    assert status == 0
    eventually(lambda: "a line for the log" in kube.text("/api/v1/namespaces/default/pods/shell/log"))


def test_a_command_in_a_pod_is_audited(instance: Instance, shell_pod: shell.Pod) -> None:
    """The client opens a WebSocket, which is a GET, as kubectl does."""
    shell_pod.run("true")
    found = ('"verb":"get"', '"resource":"pods"', '"subresource":"exec"', '"name":"shell"')

    def lines() -> list[str]:
        # The API server renames a log that is full.
        with contextlib.suppress(FileNotFoundError):
            return (instance.home / "logs" / "audit.log").read_text().splitlines()
        return []

    eventually(lambda: any(all(part in line for part in found) for line in lines()))


@pytest.fixture
def host_listener() -> Iterator[tuple[int, list[str]]]:
    """A port that answers on every address of this machine, and the addresses of those who came, in their order."""
    came: list[str] = []
    with socket.create_server(("0.0.0.0", 0)) as server:

        def greet() -> None:
            while True:
                try:
                    connection, (peer, _) = server.accept()
                except OSError:
                    return
                came.append(peer)
                with connection:
                    connection.send(b"hello from the host")

        threading.Thread(target=greet, daemon=True).start()
        yield server.getsockname()[1], came
        server.shutdown(socket.SHUT_RDWR)


def test_a_pod_reaches_neither_the_host_nor_beyond(
    shell_pod: shell.Pod, instance: Instance, host_listener: tuple[int, list[str]]
) -> None:
    host, (port, came) = instance.link[0], host_listener

    def greeted() -> bytes:
        with socket.create_connection((host, port), timeout=PATIENT_SECONDS) as own:
            return own.recv(100)

    # The same words to a service of the cluster bring an answer, so what fails below fails for its address alone.
    assert "HTTP/1" in shell_pod.ask(shell_pod.service_address(), 80, "GET / HTTP/1.0")
    assert shell_pod.ask(host, port, "GET / HTTP/1.0", seconds=2) == ""
    # Whoever had come before this would be greeted before.
    assert greeted() == b"hello from the host"
    assert came == [host]
    # Nothing is sent beyond the host, where this machine may route.
    rules = run("nsenter", f"--net={network.path(instance)}", "nft", "list", "table", "inet", "tensorplane")
    assert rules.count(f'oifname "{network.UPLINK}" drop') == 2
    assert run("ip", "-netns", instance.namespace, "route", "show", "default") == ""


def test_the_image_of_a_pod_is_pinned_once_it_is_imported(instance: Instance, shell_pod: shell.Pod) -> None:
    alive = processes.find(instance)
    assert alive
    assert shell.IMAGE in ImageStore(NodePaths(instance), alive).digests()
    address = str(alive.path(NodePaths(instance).containerd_socket))
    listed = run(str(tools().path("ctr")), "--namespace", "k8s.io", "--address", address, "images", "list")
    [line] = [line for line in listed.splitlines() if line.startswith(f"{shell.IMAGE} ")]
    assert "io.cri-containerd.pinned=pinned" in line


def test_the_cluster_without_add_ons_takes_little_memory(instance: Instance) -> None:
    share = memory.by_name(processes.members(instance), {}, "")
    assert {"kube-apiserver", "etcd", "kubelet", "containerd", "other pods"} <= share.keys()
    # The limit is 1.2 GiB with Kueue and JobSet, which add 250 MiB and what they make the API server hold.
    assert sum(share.values()) < 800 * 2**20, share


def test_starting_again_changes_nothing(instance: Instance, kube: Kube, shell_pod: shell.Pod) -> None:
    def state() -> object:
        alive = processes.find(instance)
        assert alive
        supervised = Supervisor(alive.path(NodePaths(instance).supervisor_socket)).states().values()
        deployments = kube.items("/apis/apps/v1/deployments")
        return (
            {each.name: each.pid for each in supervised},
            {each["metadata"]["uid"]: each["metadata"]["generation"] for each in deployments},
            shell_pod.status()["containerStatuses"],
        )

    before = state()
    cluster.start(instance, Step("cluster"))
    assert state() == before
    assert cluster.is_running(instance)


def test_the_status_shows_node_pod_volume_and_url(instance: Instance, api: Objects, shell_pod: shell.Pod) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "unbound", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    api.apply(claim, manager="test")
    lines = status_lines(instance)
    api.delete(GVK("", "v1", "PersistentVolumeClaim"), "unbound", "default")
    assert any(line[:3] == ["tensorplane", "Ready", "v1.36.3"] for line in lines)
    assert any(line[:4] == ["default", "shell", "Running", "1/1"] for line in lines)
    assert ["default", "unbound", "Pending"] in lines
    assert ["default", "shell", "http", f"http://{shell_pod.service_address()}:80"] in lines
