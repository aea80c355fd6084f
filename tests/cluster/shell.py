"""A pod with BusyBox for the tests: an image made of Debian's busybox-static, a web page, and commands inside it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from kubernetes import client, config
from kubernetes.stream import stream

from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tensorplane.core.scratch import scratch
from tensorplane.core.step import Step
from tensorplane.embedded import cluster
from tensorplane.embedded.instance import Instance
from tensorplane.images import debian
from tensorplane.images.layer import Recipe
from tensorplane.images.oci import Image
from tests.support.waiting import PATIENT_SECONDS, eventually

IMAGE = "tensorplane.test/shell:1"
PORT = 8080
PAGE = "served by a pod"


def _busybox(root: Path, step: Step) -> None:
    with scratch("shell") as folder:
        debian.Apt(folder, step).unpack(["busybox-static"], root)


def load_image(instance: Instance, step: Step) -> None:
    """Builds the image, once per machine, and imports it into every node."""
    recipe = Recipe("test-shell", _busybox, sources=("debian.py",))
    image = Image(IMAGE, (recipe,), entrypoint=("/bin/busybox",))
    cluster.load_archive(instance, image.build(step), [IMAGE], step)


def execute(instance: Instance, pod: str, *command: str) -> tuple[int, str]:
    """Exit status and output of a BusyBox command inside a pod of the default namespace."""
    connection = stream(
        client.CoreV1Api(config.new_client_from_config(str(instance.kubeconfig))).connect_get_namespaced_pod_exec,
        pod,
        "default",
        command=["/bin/busybox", *command],
        stdout=True,
        stderr=True,
        _preload_content=False,
    )
    connection.run_forever(timeout=PATIENT_SECONDS)
    output = connection.read_stdout() + connection.read_stderr()
    return int(connection.returncode or 0), output


class Pod:
    """The pod and the Service in front of it."""

    name, namespace = "shell", "default"

    def __init__(self, instance: Instance, api: Objects) -> None:
        self._instance, self._api = instance, api

    def created(self) -> Pod:
        """Applies both, and waits until the pod is reached by its Service's address and by its name."""
        # A namespace gets its account a moment later.
        eventually(self._has_account)
        for manifest in (_pod(self.name), _service(self.name)):
            self._api.apply(manifest, manager="test", force=True)
        eventually(lambda: self.status().get("phase") == "Running", about=self.status)
        eventually(self._is_reached, about=self.status)
        return self

    def _is_reached(self) -> bool:
        # In a cluster that was restarted, no command runs in it before the kubelet has started it again.
        with contextlib.suppress(client.ApiException):
            page = self.ask(self.service_address(), 80, "GET /index.html HTTP/1.0")
            return PAGE in page and self.run("nslookup", f"{self.name}.{self.namespace}.svc.cluster.local")[0] == 0
        return False

    def _has_account(self) -> bool:
        try:
            self._api.get(GVK("", "v1", "ServiceAccount"), "default", self.namespace)
        except ApiError as error:
            if error.not_found:
                return False
            raise
        return True

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self._api.get(GVK("", "v1", "Pod"), self.name, self.namespace)["status"]
        return status

    def service_address(self) -> str:
        return str(self._api.get(GVK("", "v1", "Service"), self.name, self.namespace)["spec"]["clusterIP"])

    def run(self, *command: str) -> tuple[int, str]:
        """Exit status and output of a BusyBox command inside the pod."""
        return execute(self._instance, self.name, *command)

    def ask(self, address: str, port: int, line: str, *, seconds: int = 60) -> str:
        """What an address answers to one line; empty if nothing is to be reached there in that time."""
        script = f"printf '{line}\\r\\n\\r\\n' | busybox nc -w {seconds} {address} {port}"
        status, output = self.run("sh", "-c", script)
        return output if status == 0 else ""


def _pod(name: str) -> dict[str, Any]:
    script = f"echo '{PAGE}' > /tmp/index.html && exec busybox httpd -f -p {PORT} -h /tmp"
    container = {
        "name": name,
        "image": IMAGE,
        "args": ["sh", "-c", script],
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
        "securityContext": {
            "runAsNonRoot": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {
            "containers": [container],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
            "terminationGracePeriodSeconds": 0,
        },
    }


def _service(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": PORT}]},
    }
