"""What a running cluster offers, and what it refuses."""

from __future__ import annotations

import contextlib
import io
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from driver import status
from driver.kube import Kube
from embedded import cluster
from embedded.cluster import cgroups, dns, processes
from embedded.cluster.host import run
from embedded.cluster.image_store import ImageStore
from embedded.cluster.node_config import SANDBOX_IMAGE
from embedded.cluster.places import Places
from embedded.paths import Instance
from embedded.provider.api import GVK, Api, ApiError
from embedded.step import Step
from embedded.toolchain import tools
from tests.cluster import shell
from tests.support.waiting import PATIENT_SECONDS, eventually


def test_the_node_is_ready_at_the_pinned_version(kube: Kube) -> None:
    [node] = kube.items("/api/v1/nodes")
    assert node["metadata"]["name"] == "tensorplane"
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.3"
    assert [each["status"] for each in node["status"]["conditions"] if each["type"] == "Ready"] == ["True"]


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
    # It is Running before its server listens, and before the Service has its address.
    eventually(lambda: shell.PAGE in shell_pod.ask(shell_pod.service_address(), 80, "GET /index.html HTTP/1.0"))


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
    log = instance.home / "logs" / "audit.log"
    found = ('"verb":"get"', '"resource":"pods"', '"subresource":"exec"', '"name":"shell"')
    eventually(lambda: any(all(part in line for part in found) for line in log.read_text().splitlines()))


def test_every_pod_has_a_limit_of_processes(instance: Instance, shell_pod: shell.Pod) -> None:
    limits = [path for folder in cgroups.folders(instance) for path in folder.rglob("pod*/pids.max")]
    assert {path.read_text().strip() for path in limits} == {"4096"}


@pytest.mark.parametrize("place", ["api", "kubelet"])
def test_who_shows_no_certificate_is_refused(instance: Instance, place: str) -> None:
    url = f"https://{instance.node_ip}:" + {"api": "6443/healthz", "kubelet": "10250/pods"}[place]
    trusting = ssl.create_default_context(cafile=str(instance.home / "pki" / "ca.crt"))
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url, context=trusting, timeout=PATIENT_SECONDS)
    assert refused.value.code == 401


def test_etcd_refuses_clients_without_its_own_authoritys_certificate(instance: Instance) -> None:
    alive = processes.find(instance)
    assert alive
    keys = instance.home / "pki"
    script = (
        "import socket, ssl, sys\n"
        "context = ssl.create_default_context(cafile=sys.argv[1])\n"
        "sys.argv[2:] and context.load_cert_chain(sys.argv[2])\n"
        "with context.wrap_socket(socket.create_connection(('127.0.0.1', 2379)), server_hostname='localhost') as s:\n"
        "    s.send(b'GET /health HTTP/1.0\\r\\n\\r\\n'); print(s.recv(200))\n"
    )
    inside = ("nsenter", "-t", str(alive.pid), "-n", "python3", "-c", script, str(keys / "etcd-ca.crt"))
    assert "200 OK" in run(*inside, str(keys / "apiserver-etcd.pem"))
    for other in ((), (str(keys / "admin.pem"),)):
        with pytest.raises(Exception, match=r"alert|closed|reset|EOF"):
            run(*inside, *other)


def test_secrets_are_encrypted_on_disk(instance: Instance, api: Api) -> None:
    plain, secret = "canary-of-a-config-map", "canary-of-a-secret"
    meta = {"name": "canary", "namespace": "default"}
    api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"x": plain}}, manager="test")
    api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"x": secret}}, manager="test")
    stored = b"".join(path.read_bytes() for path in (instance.home / "etcd").rglob("*") if path.is_file())
    assert plain.encode() in stored
    assert secret.encode() not in stored


def test_keys_are_readable_by_their_owner_alone(instance: Instance) -> None:
    folders = (instance.home / "pki", instance.home / "config")
    files = [instance.kubeconfig, *(path for folder in folders for path in folder.rglob("*") if path.is_file())]
    assert len(files) > 20
    assert {path: oct(path.stat().st_mode & 0o777) for path in files if path.stat().st_mode & 0o077} == {}


def test_a_namespace_without_a_level_takes_no_privileged_pod(api: Api) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "privileged", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": shell.IMAGE, "securityContext": {"privileged": True}}]},
    }
    with pytest.raises(ApiError, match="violates PodSecurity"):
        api.apply(pod, manager="test")


@pytest.fixture
def host_listener() -> Iterator[int]:
    """A port that answers on every address of this machine."""
    with socket.create_server(("0.0.0.0", 0)) as server:

        def greet() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.send(b"hello from the host")

        threading.Thread(target=greet, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def test_a_pod_reaches_neither_the_host_nor_beyond(
    shell_pod: shell.Pod, instance: Instance, host_listener: int
) -> None:
    host = instance.link[0]
    with socket.create_connection((host, host_listener), timeout=PATIENT_SECONDS) as own:
        assert own.recv(100) == b"hello from the host"
    # The same words to a service of the cluster bring an answer, so what fails below fails for its address alone.
    assert "HTTP/1" in shell_pod.ask(shell_pod.service_address(), 80, "GET / HTTP/1.0")
    for address, port in ((host, host_listener), ("192.0.2.1", 80), ("198.51.100.1", 80)):
        assert shell_pod.ask(address, port, "GET / HTTP/1.0", seconds=2) == "", f"{address}:{port} can be reached"


def test_images_are_imported_once_and_never_collected(instance: Instance, shell_pod: shell.Pod) -> None:
    alive = processes.find(instance)
    assert alive
    store = ImageStore(Places(instance), alive)
    needed = (SANDBOX_IMAGE, dns.IMAGE)
    assert {*needed, shell.IMAGE} <= store.digests().keys()
    assert store.load(needed, Step("images")) == []
    address = str(alive.path(Places(instance).containerd_socket))
    listed = run(str(tools().path("ctr")), "--namespace", "k8s.io", "--address", address, "images", "list")
    for name in (*needed, shell.IMAGE):
        [line] = [line for line in listed.splitlines() if line.startswith(f"{name} ")]
        assert "io.cri-containerd.pinned=pinned" in line


def test_the_cluster_without_add_ons_takes_little_memory(instance: Instance) -> None:
    share = {}
    for pid in processes.members(instance):
        with contextlib.suppress(OSError):  # it just ended
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().split()
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            share[name, pid] = int(rollup[rollup.index("Pss:") + 1]) * 1024
    assert {"kube-apiserver", "etcd", "kubelet", "containerd", "coredns"} <= {name for name, _ in share}
    # The limit is 1.2 GiB with Kueue and JobSet, which add 250 MiB and what they make the API server hold.
    assert sum(share.values()) < 800 * 2**20, share


def test_starting_again_changes_nothing(instance: Instance, kube: Kube, shell_pod: shell.Pod) -> None:
    before, pod = processes.members(instance), shell_pod.status()["containerStatuses"]
    versions = {
        item["metadata"]["uid"]: item["metadata"]["generation"] for item in kube.items("/apis/apps/v1/deployments")
    }
    cluster.start(instance, Step("cluster"))
    assert before <= processes.members(instance)
    assert shell_pod.status()["containerStatuses"] == pod
    assert versions == {
        item["metadata"]["uid"]: item["metadata"]["generation"] for item in kube.items("/apis/apps/v1/deployments")
    }
    assert cluster.is_running(instance)


def test_the_status_shows_node_pod_volume_and_url(instance: Instance, api: Api, shell_pod: shell.Pod) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "unbound", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    api.apply(claim, manager="test")
    drawn = io.StringIO()
    Console(width=160, file=drawn).print(status.report_embedded(instance))
    lines = [line.split() for line in drawn.getvalue().splitlines()]
    assert any(line[:3] == ["tensorplane", "Ready", "v1.36.3"] for line in lines)
    assert any(line[:5] == ["default", "shell", "Running", "1/1", "0"] for line in lines)
    assert ["default", "unbound", "Pending"] in lines
    assert ["default", "shell", "http", f"http://{shell_pod.service_address()}:80"] in lines
    api.delete(GVK("", "v1", "PersistentVolumeClaim"), "unbound", "default")
