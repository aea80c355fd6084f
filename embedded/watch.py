"""Follows the deployed stack to its end state: the job admitted and trained, the server Ready; says where it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from embedded import failures
from embedded.fault import Fault
from embedded.kube import Kube
from embedded.progress import Step

_POLL_SECONDS = 0.5
_SIMULATED = "kwok.x-k8s.io/node=fake"
TRAINING_SECONDS = 900
"""How long a job may show nothing of itself: no pod runs. While one does, it is followed."""
_PULL_SECONDS = 300
"""How long an image that cannot be pulled is waited for: a registry may come back."""
SERVING_SECONDS = 180


@dataclass(frozen=True)
class Outputs:
    """The stack's outputs that the main job reads: the names of its one job and its one server."""

    namespace: str
    job_set: str
    queue: str
    deployment: str
    service: str
    model: str
    urls: dict[str, str]

    @classmethod
    def of(cls, outputs: dict[str, Any]) -> Outputs:
        """From `pulumi stack output --json`."""
        workloads = outputs["workloads"].values()
        job = next(workload for workload in workloads if workload["kind"] == "trainingJob")
        server = next(workload for workload in workloads if workload["kind"] == "modelServer")
        return cls(
            namespace=outputs["namespace"],
            job_set=job["jobSet"],
            queue=job["queue"],
            deployment=server["deployment"],
            service=server["service"],
            model=server["model"],
            urls={"REST": server["rest"], "gRPC": server["grpc"]},
        )


def has_job(outputs: dict[str, Any]) -> bool:
    """Whether the stack trains anything."""
    return any(workload["kind"] == "trainingJob" for workload in outputs["workloads"].values())


def has_job_and_server(outputs: dict[str, Any]) -> bool:
    """Whether there is anything to follow: somebody may have taken the job or the server out of the settings."""
    return {"trainingJob", "modelServer"} <= {workload["kind"] for workload in outputs["workloads"].values()}


def is_simulated(api: Kube, outputs: Outputs) -> bool:
    """Whether the server's pods are on simulated nodes, where nothing answers."""
    path = f"/apis/apps/v1/namespaces/{outputs.namespace}/deployments/{outputs.deployment}"
    labels = (api.get(path) or {}).get("spec", {}).get("selector", {}).get("matchLabels", {})
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    pods = api.items(f"/api/v1/namespaces/{outputs.namespace}/pods", labelSelector=selector) if labels else []
    on = {pod["spec"].get("nodeName") for pod in pods}
    simulated = {node["metadata"]["name"] for node in api.items("/api/v1/nodes", labelSelector=_SIMULATED)}
    return bool(on) and on <= simulated


def jobs(api: Kube, outputs: dict[str, Any]) -> None:
    """Look at every training job of the stack; those that failed or are gone are one Fault.

    An update that finds their settings unchanged says nothing of them. `outputs` as `pulumi stack output` has them.
    """
    found = [workload for workload in outputs["workloads"].values() if workload["kind"] == "trainingJob"]
    faults = [line for job in found for line in _wrong(api, outputs["namespace"], job["jobSet"])]
    if faults:
        raise Fault(*faults)


def _wrong(api: Kube, namespace: str, run: str) -> list[str]:
    job_set = api.get(_path(namespace, run))
    if job_set is None:
        gone = f"training job {run}: it is not in the cluster, though it was deployed: somebody deleted its JobSet."
        return [gone, f"  {failures.again(namespace, run)}"]
    if not (failed := _condition(job_set, "Failed")):
        return []
    said = failures.first(_pods(api, namespace, run)) or ["its pods are gone", str(failed.get("message", ""))]
    return [f"training job {run} failed:", *(f"  {line}" for line in said), f"  {failures.again(namespace, run)}"]


def training(api: Kube, outputs: Outputs, step: Step) -> None:
    """Wait until the JobSet completed, for as long as it runs. A failed one is a Fault with the reason.

    So is one that does not come to run: `make up` goes on following it.
    """
    waits_since = cannot_since = time.monotonic()
    while True:
        if wrong := _wrong(api, outputs.namespace, outputs.job_set):
            raise Fault(*wrong)
        if _condition(api.get(_path(outputs.namespace, outputs.job_set)) or {}, "Completed"):
            return
        pods = _pods(api, outputs.namespace, outputs.job_set)
        step.note(state := _training_state(api, outputs, pods))
        now = time.monotonic()
        if any(pod["status"].get("phase") == "Running" for pod in pods):
            waits_since = now
        reason = failures.cannot_begin(pods)
        if not reason:
            cannot_since = now
        if now - cannot_since > _PULL_SECONDS:
            raise Fault(
                f"training job {outputs.job_set} cannot begin: {reason}; correct the image or what the line names, "
                "then run the command again"
            )
        if now - waits_since > TRAINING_SECONDS:
            raise Fault(
                f"training job {outputs.job_set}: {state} (no pod of it has run for {TRAINING_SECONDS} s). It goes on "
                "waiting in the cluster; look at: make why, make status. The same command follows it again"
            )
        time.sleep(_POLL_SECONDS)


def _path(namespace: str, run: str) -> str:
    return f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{namespace}/jobsets/{run}"


def serving(api: Kube, outputs: Outputs, step: Step) -> None:
    """Wait until the model server is Ready, which it is once a version of the model exists."""
    path = f"/apis/apps/v1/namespaces/{outputs.namespace}/deployments/{outputs.deployment}"

    def done() -> bool:
        status = (api.get(path) or {}).get("status", {})
        ready, wanted = status.get("readyReplicas", 0), status.get("replicas", 0)
        step.note(f"{ready} of {wanted} replicas ready")
        return bool(wanted and ready >= wanted and status.get("updatedReplicas") == wanted)

    selector = f"app.kubernetes.io/name={outputs.deployment}"
    _until(done, SERVING_SECONDS, lambda: f"model server {outputs.deployment}: {_waiting(api, outputs, selector)}")


def _until(done: Callable[[], bool], seconds: float, state: Callable[[], str]) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise Fault(f"{state()} (after {seconds:.0f} s). Look at: make status")
        time.sleep(_POLL_SECONDS)


def _condition(thing: dict[str, Any], kind: str) -> dict[str, Any] | None:
    conditions = thing.get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == kind and c["status"] == "True"), None)


def _pods(api: Kube, namespace: str, run: str) -> list[dict[str, Any]]:
    selector = f"jobset.sigs.k8s.io/jobset-name={run}"
    return api.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector=selector)


def _training_state(api: Kube, outputs: Outputs, pods: list[dict[str, Any]]) -> str:
    if not pods:
        return f"waiting in queue {outputs.queue}"
    running = [pod for pod in pods if pod["status"].get("phase") == "Running"]
    first = next((pod for pod in running if pod["metadata"]["name"].startswith(f"{outputs.job_set}-worker-0-0")), None)
    said = _log(api, outputs, first, 1) if first else []
    return said[-1] if said else f"{len(running)} of {len(pods)} workers running{_reason(pods)}"


def _reason(pods: list[dict[str, Any]]) -> str:
    for pod in pods:
        for container in pod["status"].get("containerStatuses", []):
            waiting = container["state"].get("waiting", {})
            if waiting.get("message"):
                return f": {waiting['reason']}: {waiting['message']}"
        unscheduled = next((c for c in pod["status"].get("conditions", []) if c.get("reason") == "Unschedulable"), None)
        if unscheduled:
            return f": {unscheduled['message']}"
    return ""


def _waiting(api: Kube, outputs: Outputs, selector: str) -> str:
    pods = api.items(f"/api/v1/namespaces/{outputs.namespace}/pods", labelSelector=selector)
    return f"not Ready{_reason(pods)}"


def _log(api: Kube, outputs: Outputs, pod: dict[str, Any], lines: int) -> list[str]:
    path = f"/api/v1/namespaces/{outputs.namespace}/pods/{pod['metadata']['name']}/log"
    return [line for line in api.text(path, tailLines=str(lines)).splitlines() if line.strip()]
