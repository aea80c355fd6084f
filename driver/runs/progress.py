"""How far a run is, according to the cluster: whether it has finished, and its newest checkpoint."""

from __future__ import annotations

import re
from dataclasses import dataclass

from components.base import jobset_paths
from components.base.labels import JOB_SET_NAME
from core.errors import UserError
from core.kube import Kube

_LINES = "2000"
# Log lines of tensorplane's library (`runtime/tensorplane/loop.py`). Before its first save, a pod's start step counts.
_SAVED = re.compile(r"^tensorplane: saved=(\d+)$", re.MULTILINE)
_BEGAN = re.compile(r"^tensorplane: .*\bstep=(\d+) .*\bresumed=", re.MULTILINE)


@dataclass(frozen=True)
class Progress:
    """What the cluster reports about a run."""

    finished: bool = False
    step: int | None = None
    """Step of the newest checkpoint, 0 before the first; None if no pod's log has it."""
    running: bool = False
    """Whether a pod is running, which saves once more when it is stopped."""


def of(api: Kube, namespace: str, run: str, writer: str) -> Progress | None:
    """Ask the cluster; None if it does not answer. `writer`: prefix of the name of the pod that saves."""
    try:
        return _asked(api, namespace, run, writer)
    except UserError:
        return None


def _asked(api: Kube, namespace: str, run: str, writer: str) -> Progress:
    job_set = api.get(jobset_paths.of(namespace, run)) or {}
    conditions = (job_set.get("status") or {}).get("conditions") or ()
    if any(one["type"] == "Completed" and one["status"] == "True" for one in conditions):
        return Progress(finished=True)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    for pod in api.items(pods, labelSelector=f"{JOB_SET_NAME}={run}") if writer else ():
        name = pod["metadata"]["name"]
        if name.startswith(writer):
            log = api.text(f"{pods}/{name}/log", tailLines=_LINES)
            return Progress(step=_step(log), running=(pod.get("status") or {}).get("phase") == "Running")
    return Progress()


def _step(log: str) -> int | None:
    found = _SAVED.findall(log) or _BEGAN.findall(log)
    return int(found[-1]) if found else None
