"""Follows the deployed stack to its end state: the job admitted and trained, the server Ready; says where it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from embedded.fault import Fault
from embedded.kube import Kube
from embedded.progress import Step

_POLL_SECONDS = 0.5
_SIMULATED = "kwok.x-k8s.io/node=fake"
TRAINING_SECONDS = 900
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


def training(api: Kube, outputs: Outputs, step: Step) -> None:
    """Wait until the JobSet completed. A failed one is a Fault with the last lines of its first failed pod."""
    path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{outputs.namespace}/jobsets/{outputs.job_set}"

    def done() -> bool:
        job_set = api.get(path)
        if job_set is None:
            raise Fault(f"training job {outputs.job_set}: it is not in the cluster. Run the command again.")
        if _condition(job_set, "Failed"):
            raise Fault(f"training job {outputs.job_set} failed:", *_last_lines(api, outputs))
        if _condition(job_set, "Completed"):
            return True
        step.note(_training_state(api, outputs))
        return False

    _until(done, TRAINING_SECONDS, lambda: f"training job {outputs.job_set}: {_training_state(api, outputs)}")


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


def _pods(api: Kube, outputs: Outputs) -> list[dict[str, Any]]:
    selector = f"jobset.sigs.k8s.io/jobset-name={outputs.job_set}"
    return api.items(f"/api/v1/namespaces/{outputs.namespace}/pods", labelSelector=selector)


def _training_state(api: Kube, outputs: Outputs) -> str:
    pods = _pods(api, outputs)
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


def _last_lines(api: Kube, outputs: Outputs) -> list[str]:
    pods = sorted(_pods(api, outputs), key=lambda pod: str(pod["status"].get("phase")) != "Failed")
    return [f"  {line}" for line in _log(api, outputs, pods[0], 8)] if pods else ["  (its pods are gone)"]
