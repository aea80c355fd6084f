"""Follows the deployed stack until its job has trained and its server is Ready, and reports progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tensorplane.components.base import jobset_paths
from tensorplane.components.base.labels import JOB_SET_NAME, NAME, SIMULATED, SIMULATED_VALUE
from tensorplane.components.base.plural import number_of
from tensorplane.core import command_lines
from tensorplane.core.command_lines import STACK
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.step import Step
from tensorplane.driver.runs import failures, log_line
from tensorplane.driver.runs.job_set import JobSet

TRAINING_JOB, MODEL_SERVER = "trainingJob", "modelServer"
_POLL_SECONDS = 0.5
_LINES = 20
"""Last lines of a pod's log among which to look for its progress."""
_SIMULATED = f"{SIMULATED}={SIMULATED_VALUE}"
TRAINING_SECONDS = 900
"""How long a job may be without a running pod. While one runs, the job is followed."""
_PULL_SECONDS = 90
"""How long to retry an image that cannot be pulled: a registry may come back."""
_START_SECONDS = 60
"""How long to wait for scheduled pods to start. A slower image pull is no error, but is not waited for."""
SERVING_SECONDS = 180


@dataclass(frozen=True)
class Outputs:
    """The stack's outputs that the driver reads: the names of one job, one server and one of its models."""

    namespace: str
    job_namespace: str
    job_set: str
    queue: str
    deployment: str
    service: str
    model: str
    urls: dict[str, str]

    @classmethod
    def of(cls, outputs: dict[str, Any], pair: tuple[str, str] | None = None) -> Outputs:
        """From `pulumi stack output --json`. `pair`: names of the job and the server; the first ones by default."""
        workloads = outputs["workloads"]
        names = pair or (_first(workloads, TRAINING_JOB), _first(workloads, MODEL_SERVER))
        job, server = (workloads[name] for name in names)
        model, rest = next(iter(server["models"].items()))
        return cls(
            namespace=outputs["namespace"],
            job_namespace=_namespace(job, outputs),
            job_set=job["jobSet"],
            queue=job["queue"],
            deployment=server["deployment"],
            service=server["service"],
            model=model,
            urls={"REST": rest, "gRPC": server["grpc"], **({"page": server["page"]} if "page" in server else {})},
        )


def _first(workloads: dict[str, Any], kind: str) -> str:
    return next(name for name, workload in workloads.items() if workload["kind"] == kind)


def _namespace(job: dict[str, Any], outputs: dict[str, Any]) -> str:
    """The namespace of a job: the stack's, or that of its team. Stacks of former versions do not tell it."""
    return str(job.get("namespace", outputs["namespace"]))


def has_job(outputs: dict[str, Any]) -> bool:
    """Whether the stack trains anything."""
    return any(workload["kind"] == TRAINING_JOB for workload in outputs["workloads"].values())


def has_job_and_server(outputs: dict[str, Any]) -> bool:
    """Whether there is anything to follow: the settings may declare no job or no server."""
    return {TRAINING_JOB, MODEL_SERVER} <= {workload["kind"] for workload in outputs["workloads"].values()}


def is_simulated(api: Kube, outputs: Outputs) -> bool:
    """Whether the server's pods are on simulated nodes, where no server runs."""
    path = f"/apis/apps/v1/namespaces/{outputs.namespace}/deployments/{outputs.deployment}"
    labels = (api.get(path) or {}).get("spec", {}).get("selector", {}).get("matchLabels", {})
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    pods = api.items(f"/api/v1/namespaces/{outputs.namespace}/pods", labelSelector=selector) if labels else []
    on = {pod["spec"].get("nodeName") for pod in pods}
    simulated = {node["metadata"]["name"] for node in api.items("/api/v1/nodes", labelSelector=_SIMULATED)}
    return bool(on) and on <= simulated


def raise_for_failed_jobs(api: Kube, outputs: dict[str, Any], stack: str = STACK) -> None:
    """Checks every training job of the stack; one UserError lists those that failed or were deleted.

    An update does not report them while their settings are unchanged. `outputs`: those of `pulumi stack output`.
    """
    found = [workload for workload in outputs["workloads"].values() if workload["kind"] == TRAINING_JOB]
    lines = [line for job in found for line in _failure(api, _namespace(job, outputs), job["jobSet"], stack)]
    if lines:
        raise UserError(*lines)


def _failure(api: Kube, namespace: str, run: str, stack: str) -> list[str]:
    job_set = api.get(jobset_paths.of(namespace, run))
    if job_set is None:
        gone = f"training job {run}: its JobSet was deployed, but no longer exists in the cluster."
        return [gone, f"  {failures.how_to_restore(command_lines.refresh(stack))}"]
    if not (failed := _condition(job_set, "Failed")):
        return []
    pods = _pods(api, namespace, run)
    lines = failures.first_failure(pods) or ["its pods are deleted", str(failed.get("message", ""))]
    again = failures.how_to_rerun(job_set, pods, command_lines.deploy(stack), command_lines.refresh(stack))
    return [f"training job {run} failed:", *(f"  {line}" for line in lines), f"  {again}"]


def wait_for_start(api: Kube, outputs: dict[str, Any], step: Step) -> None:
    """Waits until every training job has running pods, or waits for a queue or a node. A UserError if one cannot start.

    `outputs`: those of `pulumi stack output`.
    """
    jobs = [each for each in outputs["workloads"].values() if each["kind"] == TRAINING_JOB]
    runs = {each["jobSet"]: _namespace(each, outputs) for each in jobs}
    starting, failing = _Patience(_START_SECONDS), _Patience(_PULL_SECONDS)
    while True:
        active = {run: at for run, at in runs.items() if _is_active(api.get(jobset_paths.of(at, run)) or {})}
        pods = {run: _pods(api, at, run) for run, at in active.items()}
        reasons = {run: failures.cannot_start(each) for run, each in pods.items()}
        lines = [_unable(runs[run], run, reason) for run, reason in reasons.items() if reason]
        waiting = [run for run, each in pods.items() if not each or any(map(_is_starting, each))]
        step.note(next(filter(None, reasons.values()), f"{len(waiting)} of {number_of(len(runs), 'job')} starting"))
        if failing.is_spent(bool(lines)):
            raise UserError(*lines)
        if not lines and (not waiting or starting.is_spent(True)):
            return
        time.sleep(_POLL_SECONDS)


def _unable(namespace: str, run: str, reason: str) -> str:
    return f"training job {run} cannot start: {reason}. {failures.how_to_stop(namespace, run)}"


def _is_active(job_set: dict[str, Any]) -> bool:
    """Whether a JobSet exists, has not ended and is not suspended by a queue."""
    ended = any(_condition(job_set, kind) for kind in ("Completed", "Failed"))
    return bool(job_set) and not ended and not job_set["spec"].get("suspend")


def _is_starting(pod: dict[str, Any]) -> bool:
    return bool(pod["spec"].get("nodeName")) and pod["status"].get("phase") == "Pending"


class _Patience:
    """Measures for how long a condition has held without a break."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._since = seconds, time.monotonic()

    def is_spent(self, is_so: bool) -> bool:
        """Whether the condition has held for longer than that. `is_so`: whether it holds now."""
        now = time.monotonic()
        if not is_so:
            self._since = now
        return now - self._since > self._seconds


def wait_for_training(api: Kube, outputs: Outputs, step: Step, stack: str = STACK) -> None:
    """Waits until the JobSet completed, for as long as it runs. A UserError with the reason if it failed.

    Also a UserError if no pod of it runs for long; another `tensorplane up` continues to follow it.
    """
    idle, failing = _Patience(TRAINING_SECONDS), _Patience(_PULL_SECONDS)
    while True:
        if failure := _failure(api, outputs.job_namespace, outputs.job_set, stack):
            raise UserError(*failure)
        job_set = api.get(jobset_paths.of(outputs.job_namespace, outputs.job_set)) or {}
        if _condition(job_set, "Completed"):
            return
        pods = _pods(api, outputs.job_namespace, outputs.job_set)
        step.note(state := _training_state(api, outputs, JobSet(job_set).writer, pods))
        reason = failures.cannot_start(pods)
        if failing.is_spent(bool(reason)):
            raise UserError(_unable(outputs.job_namespace, outputs.job_set, reason))
        if idle.is_spent(all(pod["status"].get("phase") != "Running" for pod in pods)):
            raise UserError(
                f"training job {outputs.job_set}: {state} (no pod of it has run for {TRAINING_SECONDS} s). It keeps "
                f"waiting in the cluster; see {command_lines.of_stack('why', stack)} and "
                f"{command_lines.of_stack('status', stack)}, and run the same command to follow it again"
            )
        time.sleep(_POLL_SECONDS)


def wait_for_serving(api: Kube, outputs: Outputs, step: Step, stack: str = STACK) -> None:
    """Waits until the model server is Ready, that is, has loaded a version of the model."""
    path = f"/apis/apps/v1/namespaces/{outputs.namespace}/deployments/{outputs.deployment}"
    selector = f"{NAME}={outputs.deployment}"
    failing = _Patience(_PULL_SECONDS)

    def done() -> bool:
        pods = api.items(f"/api/v1/namespaces/{outputs.namespace}/pods", labelSelector=selector)
        reason = failures.cannot_start(pods)
        if failing.is_spent(bool(reason)):
            raise UserError(
                f"model server {outputs.deployment} cannot start: {reason}. Correct `image`, then deploy again"
            )
        status = (api.get(path) or {}).get("status", {})
        ready, wanted = status.get("readyReplicas", 0), status.get("replicas", 0)
        step.note(reason or f"{ready} of {number_of(wanted, 'replica')} ready")
        return bool(wanted and ready >= wanted and status.get("updatedReplicas") == wanted)

    _until(
        done, SERVING_SECONDS, lambda: f"model server {outputs.deployment}: {_waiting(api, outputs, selector)}", stack
    )


def _until(done: Callable[[], bool], seconds: float, state: Callable[[], str], stack: str) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise UserError(f"{state()} (after {seconds:.0f} s). Look at: {command_lines.of_stack('status', stack)}")
        time.sleep(_POLL_SECONDS)


def _condition(thing: dict[str, Any], kind: str) -> dict[str, Any] | None:
    conditions = thing.get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == kind and c["status"] == "True"), None)


def _pods(api: Kube, namespace: str, run: str) -> list[dict[str, Any]]:
    selector = f"{JOB_SET_NAME}={run}"
    return api.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector=selector)


def _training_state(api: Kube, outputs: Outputs, chief: str, pods: list[dict[str, Any]]) -> str:
    """What the chief printed last, or what the pods wait for. `chief`: prefix of its pod's name."""
    if not pods:
        return f"waiting in queue {outputs.queue}" if outputs.queue else "its pods do not exist yet"
    running = [pod for pod in pods if pod["status"].get("phase") == "Running"]
    first = next((pod for pod in running if chief and pod["metadata"]["name"].startswith(chief)), None)
    # A chief that waits for a pod without a node says nothing that helps.
    newest = (
        log_line.newest(_log(api, outputs, first, _LINES)) if first and not any(map(failures.unscheduled, pods)) else ""
    )
    return newest or f"{len(running)} of {number_of(len(pods), 'pod')} running{_reason(pods)}"


def _reason(pods: list[dict[str, Any]]) -> str:
    for pod in pods:
        for container in pod["status"].get("containerStatuses", []):
            waiting = container["state"].get("waiting", {})
            if waiting.get("message"):
                return f": {waiting['reason']}: {waiting['message']}"
        if message := failures.unscheduled(pod):
            return f": {message}"
    return ""


def _waiting(api: Kube, outputs: Outputs, selector: str) -> str:
    pods = api.items(f"/api/v1/namespaces/{outputs.namespace}/pods", labelSelector=selector)
    return f"not Ready{_reason(pods)}"


def _log(api: Kube, outputs: Outputs, pod: dict[str, Any], lines: int) -> list[str]:
    path = f"/api/v1/namespaces/{outputs.job_namespace}/pods/{pod['metadata']['name']}/log"
    return [line for line in api.text(path, tailLines=str(lines)).splitlines() if line.strip()]
