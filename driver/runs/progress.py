"""How far a run is, as the cluster tells: whether it has finished, and which checkpoint is its newest."""

from __future__ import annotations

import re
from dataclasses import dataclass

from components.base.labels import JOB_SET_NAME
from driver.kube import Kube
from embedded.fault import Fault

_JOB_SET = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets/{}"
_LINES = "2000"
# The lines of tensorplane's library (`runtime/loop.py`); a pod that has saved nothing yet began at a checkpoint.
_SAVED = re.compile(r"^tensorplane: saved=(\d+)$", re.MULTILINE)
_BEGAN = re.compile(r"^tensorplane: .*\bstep=(\d+) .*\bresumed=", re.MULTILINE)


@dataclass(frozen=True)
class Progress:
    """What the cluster says of a run."""

    finished: bool = False
    step: int | None = None
    """Step of the newest checkpoint, 0 before the first; None where no pod tells it."""
    running: bool = False
    """Whether a pod computes, and so saves once more when it is stopped."""


def of(api: Kube, namespace: str, run: str, writer: str) -> Progress | None:
    """Ask the cluster; None where it does not tell. `writer`: what the name of the pod begins with that saves."""
    try:
        return _asked(api, namespace, run, writer)
    except Fault:
        return None


def _asked(api: Kube, namespace: str, run: str, writer: str) -> Progress:
    job_set = api.get(_JOB_SET.format(namespace, run)) or {}
    conditions = (job_set.get("status") or {}).get("conditions") or ()
    if any(one["type"] == "Completed" and one["status"] == "True" for one in conditions):
        return Progress(finished=True)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    for pod in api.items(pods, labelSelector=f"{JOB_SET_NAME}={run}") if writer else ():
        name = pod["metadata"]["name"]
        if name.startswith(writer):
            said = api.text(f"{pods}/{name}/log", tailLines=_LINES)
            return Progress(step=_step(said), running=(pod.get("status") or {}).get("phase") == "Running")
    return Progress()


def _step(log: str) -> int | None:
    found = _SAVED.findall(log) or _BEGAN.findall(log)
    return int(found[-1]) if found else None
