"""What the embedded cluster refuses, and what it keeps to itself, asked on the cluster that runs anyway."""

from __future__ import annotations

import contextlib
import ssl
import urllib.error
import urllib.request

import pytest

from tensorplane.core.errors import ApiError
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.core.step import Step
from tensorplane.embedded.cluster import cgroups, dns, processes
from tensorplane.embedded.cluster.host import run
from tensorplane.embedded.cluster.image_store import ImageStore
from tensorplane.embedded.cluster.node_config import SANDBOX_IMAGE
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.instance import Instance
from tensorplane.toolchain import tools
from tests.support.waiting import PATIENT_SECONDS, eventually


@pytest.fixture
def kube(instance: Instance) -> Kube:
    """Reads the cluster."""
    return Kube.of(instance.kubeconfig)


@pytest.fixture
def api(instance: Instance) -> Objects:
    """Writes to the cluster."""
    return Objects(Kube.of(instance.kubeconfig))


def test_the_node_is_ready_at_the_pinned_version(kube: Kube) -> None:
    [node] = kube.items("/api/v1/nodes")
    assert node["metadata"]["name"] == "tensorplane"
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.3"
    assert [each["status"] for each in node["status"]["conditions"] if each["type"] == "Ready"] == ["True"]


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


def test_keys_are_readable_by_their_owner_alone(instance: Instance) -> None:
    folders = (instance.home / "pki", instance.home / "config")
    files = [instance.kubeconfig, *(path for folder in folders for path in folder.rglob("*") if path.is_file())]
    assert len(files) > 20
    assert {path: oct(path.stat().st_mode & 0o777) for path in files if path.stat().st_mode & 0o077} == {}


def test_every_pod_has_a_limit_of_processes(instance: Instance) -> None:
    def limits() -> set[str]:
        found = set()
        for path in (path for folder in cgroups.folders(instance) for path in folder.rglob("pod*/pids.max")):
            with contextlib.suppress(OSError):  # its pod has just ended
                found.add(path.read_text().strip())
        return found

    # The kubelet sets it once it has made the group. The cluster's DNS is a pod.
    eventually(lambda: limits() == {"4096"}, about=limits)


def test_secrets_are_encrypted_on_disk(instance: Instance, api: Objects) -> None:
    plain, secret = "canary-of-a-config-map", "canary-of-a-secret"

    def stored() -> bytes:
        found = b""
        for path in (path for path in (instance.home / "etcd").rglob("*") if path.is_file()):
            with contextlib.suppress(FileNotFoundError):  # etcd renames some
                found += path.read_bytes()
        return found

    meta = {"name": "canary", "namespace": "default"}
    api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"x": secret}}, manager="test")
    api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"x": plain}}, manager="test")
    found = eventually(lambda: plain.encode() in (now := stored()) and now)
    assert found
    assert secret.encode() not in found


def test_a_namespace_without_a_level_takes_no_privileged_pod(api: Objects) -> None:
    container = {"name": "c", "image": SANDBOX_IMAGE, "securityContext": {"privileged": True}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "privileged", "namespace": "default"},
        "spec": {"containers": [container]},
    }

    def refusal() -> str:
        try:
            api.create(pod, manager="test", dry_run=True)
        except ApiError as error:
            return str(error)
        return "it takes the pod"

    # A namespace gets its service account a moment later, and refuses every pod before.
    said = eventually(lambda: "serviceaccount" not in (now := refusal()) and now)
    assert "violates PodSecurity" in str(said)


def test_images_are_imported_once_and_never_collected(instance: Instance) -> None:
    alive = processes.find(instance)
    assert alive
    store = ImageStore(NodePaths(instance), alive)
    needed = (SANDBOX_IMAGE, dns.IMAGE)
    assert set(needed) <= store.digests().keys()
    assert store.load(needed, Step("images")) == []
    address = str(alive.path(NodePaths(instance).containerd_socket))
    listed = run(str(tools().path("ctr")), "--namespace", "k8s.io", "--address", address, "images", "list")
    for name in needed:
        [line] = [line for line in listed.splitlines() if line.startswith(f"{name} ")]
        assert "io.cri-containerd.pinned=pinned" in line
