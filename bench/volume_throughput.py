"""How fast a pod writes and reads a file of its volume, compared with the node in the same folder."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from kubernetes import client, config
from kubernetes.stream import stream

from bench import file_speed, instance, rate
from bench.figure import Figure, Measured
from bench.instance import Running
from tensorplane.components import versions
from tensorplane.core.errors import UserError
from tensorplane.embedded.cluster import csi, processes
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.images.oci import NONROOT

_ROUNDS = 9
_MIB = 512
_VOLUME_GIB = 4
_PAUSE_SECONDS = 3.0
_LIMIT_SECONDS = 60
_NAME, _NAMESPACE, _FOLDER = "throughput", "default", "/data"

Speed = Callable[[str, str], float]
"""Bytes per second of `write` or `read` of a file by its name."""


@dataclass(frozen=True)
class Round:
    """Bytes per second; the order alternates between rounds."""

    pod_write: float
    node_write: float
    pod_read: float
    node_read: float


@cache
def _rounds() -> list[Round]:
    """The rounds of both figures."""
    with instance.running() as bench:
        core = client.CoreV1Api(config.new_client_from_config(str(instance.BENCH.kubeconfig)))
        on_node = partial(_on_node, _claimed(core, bench))
        in_pod = partial(_in_pod, core)
        instance.settle(_PAUSE_SECONDS)
        return [_round(number, in_pod, on_node) for number in range(_ROUNDS)]


def _round(number: int, in_pod: Speed, on_node: Speed) -> Round:
    ways = {"pod": in_pod, "node": on_node}
    order = ("pod", "node") if number % 2 else ("node", "pod")
    found = {}
    for what in ("write", "read"):
        for way in order:
            found[f"{way}_{what}"] = ways[way](what, way)
            time.sleep(_PAUSE_SECONDS)
    return Round(**found)


def _claimed(core: client.CoreV1Api, bench: Running) -> Path:
    """Creates a claim and a pod that mounts it; returns the volume's folder on the node."""
    size = {"requests": {"storage": f"{_VOLUME_GIB}Gi"}}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": size, "storageClassName": csi.CLASS}
    core.create_namespaced_persistent_volume_claim(_NAMESPACE, {"metadata": {"name": _NAME}, "spec": claim})
    core.create_namespaced_pod(_NAMESPACE, _pod())
    end = time.monotonic() + _LIMIT_SECONDS
    while (found := core.read_namespaced_pod(_NAME, _NAMESPACE).status).phase != "Running":
        if time.monotonic() > end:
            raise UserError(f"pod {_NAME}: {found.phase} after {_LIMIT_SECONDS} s")
        time.sleep(0.2)
    bound = core.read_namespaced_persistent_volume_claim(_NAME, _NAMESPACE).spec.volume_name
    alive = processes.find(instance.BENCH)
    if not alive:
        raise UserError("the cluster ended during the measurement")
    pool = alive.path(NodePaths(instance.BENCH).pool)
    return pool / "volumes" / str(core.read_persistent_volume(bound).spec.csi.volume_handle)


def _pod() -> dict[str, Any]:
    container = {
        "name": _NAME,
        "image": versions.EMBEDDED_IMAGES.python,
        "command": ["python3", "-c", "import time; time.sleep(100000)"],
        "volumeMounts": [{"name": "data", "mountPath": _FOLDER}],
    }
    spec = {
        "containers": [container],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": _NAME}}],
        "securityContext": {"runAsUser": NONROOT, "runAsGroup": NONROOT, "fsGroup": NONROOT},
        "terminationGracePeriodSeconds": 0,
    }
    return {"metadata": {"name": _NAME}, "spec": spec}


def _in_pod(core: client.CoreV1Api, what: str, name: str) -> float:
    answer = stream(
        core.connect_get_namespaced_pod_exec,
        _NAME,
        _NAMESPACE,
        command=["python3", "-c", _text(), what, f"{_FOLDER}/{name}", str(_MIB)],
        stdout=True,
        stderr=True,
    )
    return _number(answer)


def _on_node(folder: Path, what: str, name: str) -> float:
    program = [sys.executable, "-c", _text(), what, str(folder / name), str(_MIB)]
    return _number(subprocess.run(program, capture_output=True, text=True, check=True).stdout)


def _text() -> str:
    return Path(file_speed.__file__).read_text()


def _number(answer: str) -> float:
    try:
        return float(answer)
    except ValueError:
        raise UserError(f"the pod printed no speed, but: {answer.strip()[-300:]}") from None


def _measure(what: str) -> Measured:
    rounds = _rounds()
    ratio = rate.paired([(getattr(one, f"pod_{what}"), getattr(one, f"node_{what}")) for one in rounds])
    return Measured(
        ratio.median,
        f"pod {ratio.first / 2**20:.0f} MiB/s, node {ratio.second / 2**20:.0f} MiB/s "
        f"({ratio.interval}, {len(rounds)} rounds)",
    )


FIGURES = (
    Figure("pod-read", ">= 0.9", "x", partial(_measure, "read")),
    Figure("pod-write", ">= 0.9", "x", partial(_measure, "write")),
)
