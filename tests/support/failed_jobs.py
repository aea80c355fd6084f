"""A JobSet, its pods and a cluster that answers with them: what a job that fails leaves."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, cast

from tensorplane.components.base.labels import NAME
from tensorplane.core.kube import Kube

TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\nValueError: boom\n'
NOW = datetime.datetime(2026, 11, 22, 12, 0, tzinfo=datetime.UTC)
RUN = "digits-0901f9d5"


def pod_of(name: str = "worker-0-0", *, at: str = "11:59:00", phase: str = "Failed", **state: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "there", "state": state}
    if "terminated" in state:
        state["terminated"]["finishedAt"] = f"2026-11-22T{at}Z"
    labels = {"jobset.sigs.k8s.io/jobset-name": RUN}
    about = {"name": f"{RUN}-{name}", "namespace": "ml", "labels": labels, "creationTimestamp": "2026-11-22T11:00:00Z"}
    main = {"name": "main", "image": "nowhere.invalid/a:1", "resources": {"limits": {"memory": "2048Mi"}}}
    status = {"phase": phase, "containerStatuses": [container] if state else []}
    return {"metadata": about, "spec": {"containers": [main], "nodeName": "node"}, "status": status}


def exited(code: int, message: str = "", reason: str = "Error") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


UNPULLED = f"{RUN}-worker-0-0: image nowhere.invalid/a:1 cannot be pulled: ErrImagePull: no such host"


def unpulled(reason: str = "ErrImagePull") -> dict[str, Any]:
    return pod_of(phase="Pending", waiting={"reason": reason, "message": "no such\n host"})


def job_set_of(kind: str = "", *variables: str, **status: Any) -> dict[str, Any]:
    about = {
        "name": RUN,
        "namespace": "ml",
        "creationTimestamp": "2026-11-22T11:00:00Z",
        "uid": "u",
        "labels": {NAME: "digits"},
    }
    conditions = [
        {"type": kind, "status": "True", "message": "jobset failed", "lastTransitionTime": "2026-11-22T11:59:00Z"}
    ]
    pod = {"spec": {"containers": [{"name": "main", "env": [{"name": name} for name in variables]}]}}
    spec = {"replicatedJobs": [{"name": "worker", "template": {"spec": {"template": pod}}}]} if variables else {}
    return {"metadata": about, "spec": spec, "status": {"conditions": conditions if kind else [], **status}}


class Cluster:
    """A cluster's answers by path; a list of a JobSet's answers is told one after the other."""

    def __init__(self, job_sets: Mapping[str, Any], pods: list[dict[str, Any]]) -> None:
        self._job_sets = {name: list(each) if isinstance(each, list) else [each] for name, each in job_sets.items()}
        self._pods = pods

    def get(self, path: str, **_: str) -> Any:
        found = self._job_sets.get(path.rpartition("/")[2], [None])
        return found.pop(0) if len(found) > 1 else found[0]

    def items(self, path: str, **_: str) -> list[dict[str, Any]]:
        return self._pods

    def text(self, path: str, **_: str) -> str:
        return ""


def api_of(job_sets: Mapping[str, Any], *pods: dict[str, Any]) -> Kube:
    return cast(Kube, Cluster(job_sets, list(pods)))
