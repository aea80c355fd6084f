"""A job's objects in the cluster: the path of its JobSet, its pods, and whether it has ended."""

from __future__ import annotations

from tensorplane.cli.api_values import Object
from tensorplane.cli.kueue.objects import condition
from tensorplane.components.base import jobset_paths
from tensorplane.components.base.labels import COMPONENT, JOB_SET_NAME
from tensorplane.core.kube import Kube
from tensorplane.workloads.sweep.controller_objects import CONTROLLER

CLI_MANAGER = "tensorplane"
"""Label `managed-by` and field manager of what `tensorplane` itself creates, such as the jobs of `tensorplane run`."""
_ROLE = "jobset.sigs.k8s.io/replicatedjob-name"
_INDEX = "batch.kubernetes.io/job-completion-index"
_OUTCOMES = {"Completed": "finished", "Failed": "failed"}


def path(job_set: Object) -> str:
    """The path of a JobSet, by its metadata."""
    return jobset_paths.of(job_set["metadata"]["namespace"], job_set["metadata"]["name"])


def outcome(job_set: Object) -> str:
    """How a job has ended: finished or failed; empty if it has not."""
    return next((word for condition_type, word in _OUTCOMES.items() if condition(job_set, condition_type).holds), "")


def is_sweep_controller(job_set: Object) -> bool:
    """Whether it is the controller of a sweep that a person submitted."""
    return (job_set["metadata"].get("labels") or {}).get(COMPONENT) == CONTROLLER


def pods(api: Kube, job_set: Object, **query: str) -> list[Object]:
    """The pods of a job. `query`: further parameters of the list."""
    metadata = job_set["metadata"]
    selector = f"{JOB_SET_NAME}={metadata['name']}"
    return api.items(f"/api/v1/namespaces/{metadata['namespace']}/pods", labelSelector=selector, **query)


def role_and_index(pod: Object) -> tuple[str, int]:
    """A pod's role, and its index within it."""
    labels = pod["metadata"].get("labels") or {}
    return str(labels.get(_ROLE, "pod")), int(labels.get(_INDEX, 0))
