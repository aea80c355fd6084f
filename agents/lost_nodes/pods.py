"""What the agent does with a pod on a lost node, which pods an eviction moves, and which pods should have ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Pod = Mapping[str, Any]

FENCED = "tensorplane.dev/fenced"
"""Annotation of pods whatever of which is left on a lost node changes nothing that others see."""
REPLACED_AFTER = 60.0
"""Seconds after which a Deployment's pod is replaced. The pod that is cut off may still answer."""
_ENDED_PHASES = ("Succeeded", "Failed")
_REASON = "NodeLost"
_KILLED = 137
"""Exit status of a container that was ended by SIGKILL."""
_REPEATED = 8.0
"""Seconds after which the end of a pod is reported again, until Argo has reconciled it."""
_RECONCILED = "workflows.argoproj.io/completed"
"""Label of pods whose end Argo has reconciled."""


def stays(pod: Pod) -> bool:
    """Whether an eviction of the pod moves nothing: it has ended, or is its node's own."""
    about = pod["metadata"]
    is_of_node = any(owner["kind"] in ("DaemonSet", "Node") for owner in about.get("ownerReferences") or ())
    return is_of_node or has_ended(pod)


def has_ended(pod: Pod) -> bool:
    """Whether the API server has the pod as ended."""
    return pod.get("status", {}).get("phase") in _ENDED_PHASES


def is_evicted(pod: Pod) -> bool:
    """Whether somebody evicts the pod by the Eviction API, as `kubectl drain` does."""
    conditions = pod.get("status", {}).get("conditions") or ()
    reasons = [each.get("reason") for each in conditions if each["type"] == "DisruptionTarget"]
    return "deletionTimestamp" in pod["metadata"] and "EvictionByEvictionAPI" in reasons


def replica_set(pod: Pod) -> str:
    """The uid of the ReplicaSet that starts another pod once this one is deleted; empty without one."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((str(owner.get("uid", "")) for owner in owners if owner["kind"] == "ReplicaSet"), "")


def is_ready(pod: Pod) -> bool:
    """Whether Services send requests to the pod."""
    conditions = pod.get("status", {}).get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


class PodAction(Enum):
    """What to do with a pod."""

    END = "end by force: as failed, and deleted"
    FAIL = "end as failed, and leave the rest to Argo"
    REPLACE = "delete, so that another one starts"
    LEAVE = "leave"


def decide(pod: Pod, silent: float, *, of_controller: bool = False) -> PodAction:
    """What to do with a pod on a node without heartbeats for so many seconds.

    `of_controller`: gangs wait for another one, and the one that is cut off leads no more.
    """
    if has_ended(pod):
        is_due = silent % _REPEATED < _REPEATED / 4
        return PodAction.FAIL if is_due and _is_unreconciled(pod) else PodAction.LEAVE
    if pod["metadata"].get("annotations", {}).get(FENCED) == "true":
        return PodAction.FAIL if _is_argos(pod) else PodAction.END
    # A Deployment starts another pod at once; a Job waits for the end of this one.
    if replica_set(pod) and (of_controller or silent >= REPLACED_AFTER) and "deletionTimestamp" not in pod["metadata"]:
        return PodAction.REPLACE
    return PodAction.LEAVE


def _is_argos(pod: Pod) -> bool:
    """Whether the pod is a Workflow's own. Argo starts another one once it has reconciled the end of this one."""
    return any(owner["kind"] == "Workflow" for owner in pod["metadata"].get("ownerReferences") or ())


def _is_unreconciled(pod: Pod) -> bool:
    """Whether this agent has ended a pod of a Workflow, and Argo has not reconciled that.

    Argo starts another pod when it reconciles a second time, and does so only when something has changed (v3.7.4:
    workflow/controller/operator.go, podReconciliation, and pod/significant.go).
    """
    conditions = pod.get("status", {}).get("conditions") or ()
    is_ours = any((each["type"], each.get("reason")) == ("DisruptionTarget", _REASON) for each in conditions)
    return _is_argos(pod) and is_ours and (pod["metadata"].get("labels") or {}).get(_RECONCILED) != "true"


def silence(node: str, seconds: float) -> str:
    """What is the matter with a lost node."""
    return f"node {node} has sent no heartbeat for {seconds:.0f} s"


def unready(message: str) -> dict[str, Any]:
    """The status of a pod that gets no requests, as Kubernetes sets it when it gives a node up. A kubelet that is back
    puts it right."""
    return {"conditions": [{"type": "Ready", "status": "False", "reason": _REASON, "message": message}]}


def ended(pod: Pod, message: str, now: str) -> dict[str, Any]:
    """The status of a pod that is ended by force: one that the node took along, not a failure of its own.

    `message`: what is the matter with the node. `now`: the time, as the API has it.
    """
    status: dict[str, Any] = {
        "phase": "Failed",
        "reason": _REASON,
        "message": message,
        "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": _REASON, "message": message}],
    }
    if not _is_argos(pod):
        return status
    # Argo waits ten minutes for what the container `wait` might still report, unless that has ended badly, or never was
    # there and the pod is evicted (v3.7.4: workflow/controller/operator.go, assessNodeStatus, and taskresult.go).
    containers = [_killed(each, message, now) for each in pod.get("status", {}).get("containerStatuses") or ()]
    return {**status, "reason": "Evicted", "containerStatuses": containers}


def _killed(container: Mapping[str, Any], message: str, now: str) -> dict[str, Any]:
    """The status of a container that has ended with its node, unless it had ended before."""
    state = container.get("state") or {}
    if "terminated" in state:
        return {**container}
    killed = {"exitCode": _KILLED, "reason": _REASON, "message": message, "finishedAt": now}
    began = {"startedAt": state["running"]["startedAt"]} if "running" in state else {}
    return {**container, "ready": False, "started": False, "state": {"terminated": {**killed, **began}}}


MARGIN = 30.0
"""Seconds after a pod's grace period in which its kubelet may still end it."""


@dataclass
class OverdueDeletions:
    """Pods that are being deleted on nodes that are not ready: without a runtime, a kubelet ends none.

    Kubernetes deletes the pods of such a node after five minutes, a drain before. Times are by this process's clock.
    """

    _since: dict[str, float] = field(default_factory=dict)

    def list_overdue(self, pods: Iterable[Pod], now: float) -> list[Pod]:
        """The pods that should have ended. `pods`: all on nodes that are not ready."""
        deleted = {pod["metadata"]["uid"]: pod for pod in pods if "deletionTimestamp" in pod["metadata"]}
        self._since = {uid: self._since.get(uid, now) for uid in deleted}
        return [pod for uid, pod in deleted.items() if now - self._since[uid] >= _grace(pod) + MARGIN]


def _grace(pod: Pod) -> float:
    return float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
