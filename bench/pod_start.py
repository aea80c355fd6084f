"""How long a pod on the TensorFlow image takes from its POST to the first line of the user's code."""

from __future__ import annotations

import statistics
import time
from typing import Any

from kubernetes import client, config

from bench import instance, waiting
from bench.figure import Figure, Measured
from tensorplane.components import versions
from tensorplane.components.base.model import Resources
from tensorplane.core.kube import Kube
from tensorplane.workloads.pods import pod
from tensorplane.workloads.pods.files import Bundle

_PODS = 9
_PAUSE_SECONDS = 3.0
_LIMIT_SECONDS = 60
_CODE = Bundle("first-line", {"main.py": b"import time\n\nprint(time.time(), flush=True)\n"})


def _manifest(name: str) -> dict[str, Any]:
    """A pod like those of training jobs: the same image, identity, limits, and code from a ConfigMap."""
    container = pod.Container(
        image=versions.EMBEDDED_IMAGES.train,
        resources=Resources(cpus=0.4, memory_gib=1.25),
        command=["python3", "main.py"],
        files={pod.APP: _CODE},
    )
    made = pod.template("default", {}, container, grace_seconds=0, restart_policy="Never", placement={})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": made["spec"]}


def _start_seconds(core: client.CoreV1Api, kube: Kube, namespace: str, name: str) -> float:
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    manifest = _manifest(name)
    posted = time.time()
    core.create_namespaced_pod(namespace, manifest)

    def status() -> dict[str, Any]:
        found: dict[str, Any] = (kube.get(path) or {}).get("status", {})
        return found

    waiting.until(
        lambda: status().get("phase") == "Succeeded", _LIMIT_SECONDS, lambda: f"pod {name}: {status()}", every=0.2
    )
    # The pod's clock is this machine's.
    started = float(kube.text(f"{path}/log")) - posted
    kube.delete(path)
    return started


def _measure() -> Measured:
    with instance.running() as bench:
        namespace = bench.deploy().namespace
        core = client.CoreV1Api(config.new_client_from_config(str(instance.BENCH.kubeconfig)))
        texts, _ = _CODE.data()
        core.create_namespaced_config_map(namespace, {"metadata": {"name": _CODE.name}, "data": texts})
        instance.settle(_PAUSE_SECONDS)
        taken = []
        for number in range(_PODS):
            taken.append(_start_seconds(core, bench.kube, namespace, f"first-line-{number}"))
            time.sleep(_PAUSE_SECONDS)
    return Measured(statistics.median(taken), f"{_PODS} pods, {min(taken):.2f} to {max(taken):.2f} s")


FIGURES = (Figure("pod-start", "<= 3", "s", _measure),)
