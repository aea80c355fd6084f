"""Pods with BusyBox on a certain node, and the commands of kubectl about them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import uuid
from collections.abc import Iterator
from typing import Any

from tensorplane.embedded.cluster import csi
from tensorplane.embedded.instance import Instance
from tensorplane.toolchain import tools
from tests.cluster.shell import IMAGE
from tests.support.waiting import PATIENT_SECONDS

PORT = 8080


class Pods:
    """A namespace with pods, each of which serves a page with its own name."""

    def __init__(self, instance: Instance, namespace: str) -> None:
        self._kubectl = (str(tools().path("kubectl")), "--kubeconfig", str(instance.kubeconfig), "-n", namespace)
        self.namespace = namespace

    @classmethod
    @contextlib.contextmanager
    def own(cls, instance: Instance) -> Iterator[Pods]:
        """In a new namespace, which ends with the test."""
        made = cls(instance, f"nodes-{uuid.uuid4().hex[:8]}")
        made.kubectl("create", "namespace", made.namespace)
        try:
            yield made
        finally:
            made.kubectl("delete", "namespace", made.namespace, "--wait=false")

    def kubectl(self, *words: str, stdin: str = "") -> str:
        """What it prints; fails with what it complains of."""
        done = subprocess.run([*self._kubectl, *words], input=stdin, capture_output=True, text=True)
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr}"
        return done.stdout

    def apply(self, *objects: dict[str, Any]) -> None:
        items = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        self.kubectl("apply", "-f", "-", stdin=items)

    def until(self, condition: str, *what: str) -> None:
        """Waits as `kubectl wait` does, such as for `condition=Ready`."""
        self.kubectl("wait", f"--for={condition}", f"--timeout={PATIENT_SECONDS:.0f}s", *what)

    def evict(self, pod: str) -> None:
        """As `kubectl drain` does."""
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod}/eviction"
        self.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))

    def run(self, pod: str, script: str) -> str:
        """What a script prints in a pod."""
        return self.kubectl("exec", pod, "--", "busybox", "sh", "-c", script)

    def fails(self, pod: str, script: str) -> bool:
        """Whether a script cannot be run in a pod, or fails there."""
        argv = [*self._kubectl, "exec", pod, "--", "busybox", "sh", "-c", script]
        return subprocess.run(argv, capture_output=True).returncode != 0

    def field(self, what: str, path: str) -> str:
        """A field of an object or of a list of them, by its JSONPath."""
        return self.kubectl("get", *what.split(), "-o", f"jsonpath={{{path}}}")

    def page(self, pod: str, host: str, port: int = PORT) -> str:
        """The page of an address or a name, as a pod gets it."""
        return self.run(pod, f"busybox wget -q -O - http://{host}:{port}/").strip()


def claim(name: str, mode: str) -> dict[str, Any]:
    """A claim for a volume of the embedded cluster."""
    spec = {"accessModes": [mode], "storageClassName": csi.CLASS, "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def pod(name: str, node: str, app: str = "", claim: str = "") -> dict[str, Any]:
    """A pod on a node of that name, with the claim at /data."""
    spec = {**_spec(name, claim), "nodeSelector": {"kubernetes.io/hostname": node}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": app or name}}, "spec": spec}


def deployment(name: str, node: str, claim: str = "") -> dict[str, Any]:
    """One pod with the claim, on that node if it takes pods."""
    wanted = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    affinity = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": wanted}]}
    }
    template = {"metadata": {"labels": {"app": name}}, "spec": {**_spec(name, claim), "affinity": affinity}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def budget(app: str) -> dict[str, Any]:
    """A PodDisruptionBudget that keeps all pods of an app."""
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": app}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": app}, "spec": spec}


def service(app: str) -> dict[str, Any]:
    """A Service at port 80 for pods of an app."""
    spec = {"selector": {"app": app}, "ports": [{"port": 80, "targetPort": PORT}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": app}, "spec": spec}


def _spec(name: str, claim: str) -> dict[str, Any]:
    script = f"echo {name} > /tmp/index.html; echo {name} serves; exec busybox httpd -f -p {PORT} -h /tmp"
    container: dict[str, Any] = {
        "name": "page",
        "image": IMAGE,
        "args": ["sh", "-c", script],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    volumes: list[dict[str, Any]] = [{"name": "tmp", "emptyDir": {}}]
    if claim:
        container["volumeMounts"].append({"name": "data", "mountPath": "/data"})
        volumes.append({"name": "data", "persistentVolumeClaim": {"claimName": claim}})
    return {"containers": [container], "volumes": volumes, "terminationGracePeriodSeconds": 0}
