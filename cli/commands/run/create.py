"""Creates the objects of a job, once: the JobSet first, which owns the others."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tensorplane.cli.api_values import Object
from tensorplane.cli.training_jobs import cancelled, jobset_api
from tensorplane.components import versions
from tensorplane.components.base import jobset_paths
from tensorplane.components.base.labels import DOMAIN, MANAGED_BY, NAME
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube

_SETTINGS = f"{DOMAIN}/settings"
"""Annotation of a JobSet: the hash of what was asked for, to compare with what is asked for now."""
_PATHS = {
    "JobSet": (jobset_paths.JOB_SETS, "jobsets"),
    "NetworkPolicy": ("/apis/networking.k8s.io/v1", "networkpolicies"),
    "ConfigMap": ("/api/v1", "configmaps"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "Role": ("/apis/rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "rolebindings"),
}
_GONE_SECONDS = 600.0
_LOOK_SECONDS = 0.5


class Planned(Protocol):
    """What a person submits: a job, or a sweep."""

    @property
    def run(self) -> str:
        """Name of its run and JobSet."""

    @property
    def objects(self) -> list[Object]:
        """The JobSet first, and what it owns."""

    @property
    def settings(self) -> str:
        """A hash of what was asked for."""


SubmitState = Literal["new", "there", "finished", "changed", "continued"]


@dataclass(frozen=True)
class Submitted:
    """A job in the cluster."""

    job_set: Object
    state: SubmitState
    """Whether it is new, was there already, had finished with the same settings or with changed ones, or had failed."""


def submit(api: Kube, planned: Planned) -> Submitted:
    """Creates what is missing. Interrupted at any point and run again, it completes the same objects.

    The JobSet comes first: whatever else exists is deleted with it. Its pods wait for what they mount, which is there a
    moment later. A run that has failed, or that has finished with other settings, goes on where it ended. A UserError
    if it runs with other settings.
    """
    path = _path(planned.objects[0])
    before = _settled(api, path)
    how = _state(before, planned)
    if before and how == "finished":
        return Submitted(before, how)
    if how in ("changed", "continued"):
        api.delete(path, propagationPolicy="Foreground")
        before = _settled(api, path)
    manager = f"{jobset_api.CLI_MANAGER}-run-{planned.run}"
    job_set = before or api.apply(path, _noted(planned), manager)
    if how == "new":
        cancelled.forget(api, job_set["metadata"]["namespace"], planned.run)
    for obj in planned.objects[1:]:
        api.apply(_path(obj), owned(obj, job_set), manager)
    return Submitted(job_set, how)


def expected_state(api: Kube, planned: Planned) -> SubmitState:
    """What `submit` would find. A UserError if the run has not ended and has other settings."""
    return _state(_settled(api, _path(planned.objects[0])), planned)


def check_none_runs(api: Kube, planned: Planned) -> None:
    """A UserError if another run of the same job has not ended."""
    about = planned.objects[0]["metadata"]
    labels = f"{NAME}={about['labels'][NAME]},{MANAGED_BY}={jobset_api.CLI_MANAGER}"
    for one in api.items(jobset_paths.in_namespace(about["namespace"]), labelSelector=labels):
        if not jobset_api.outcome(one):
            raise UserError(f"--again: {one['metadata']['name']} has not ended; cancel it first, or set another --name")


def _settled(api: Kube, path: str) -> Object | None:
    """The object, once it is not being deleted any more."""
    end = time.monotonic() + _GONE_SECONDS
    while (found := api.get(path)) and found["metadata"].get("deletionTimestamp"):
        if time.monotonic() > end:
            raise UserError(
                f"{found['metadata']['name']}: is being cancelled, and its pods do not end; try again later"
            )
        time.sleep(_LOOK_SECONDS)
    return found


def _state(before: Object | None, planned: Planned) -> SubmitState:
    if before is None:
        return "new"
    is_same = (before["metadata"].get("annotations") or {}).get(_SETTINGS) == planned.settings
    if ended := jobset_api.outcome(before):
        return "continued" if ended == "failed" else "finished" if is_same else "changed"
    if is_same:
        return "there"
    raise UserError(
        f"{planned.run}: has not ended, and was submitted with another size, queue or other settings that do not decide"
        " its result; cancel it, then run the same command: it goes on from its checkpoints"
    )


def _noted(planned: Planned) -> Object:
    """The JobSet with what it was asked for."""
    job_set = planned.objects[0]
    return {**job_set, "metadata": {**job_set["metadata"], "annotations": {_SETTINGS: planned.settings}}}


def owned(obj: Object, job_set: Object) -> Object:
    """An object that is deleted with the JobSet."""
    owner: dict[str, Any] = {
        "apiVersion": versions.JOBSET_API,
        "kind": "JobSet",
        "name": job_set["metadata"]["name"],
        "uid": job_set["metadata"]["uid"],
        # The JobSet is there until all of it is gone, so that the next submission meets nothing that is being deleted.
        "blockOwnerDeletion": True,
    }
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [owner]}}


def _path(obj: Object) -> str:
    about, (group, plural) = obj["metadata"], _PATHS[obj["kind"]]
    return f"{group}/namespaces/{about['namespace']}/{plural}/{about['name']}"
