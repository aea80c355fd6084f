"""What becomes of a pod on a lost node, and which pods an eviction moves."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

Pod = Mapping[str, Any]

FENCED = "tensorplane.dev/fenced"
"""Annotation of pods whatever of which is left on a lost node changes nothing that others see."""
REPLACED_AFTER = 60.0
"""Seconds after which a Deployment's pod is replaced. The pod that is cut off may still answer."""
_ENDED = ("Succeeded", "Failed")


def stays(pod: Pod) -> bool:
    """Whether an eviction of the pod moves nothing: it has ended, or is its node's own."""
    about = pod["metadata"]
    is_of_node = any(owner["kind"] in ("DaemonSet", "Node") for owner in about.get("ownerReferences") or ())
    return is_of_node or pod.get("status", {}).get("phase") in _ENDED


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


class Fate(Enum):
    """What to do with a pod."""

    END = "end by force"
    REPLACE = "delete, so that another one starts"
    LEAVE = "leave"


def fate(pod: Pod, silent: float, *, of_controller: bool = False) -> Fate:
    """What to do with a pod on a node without heartbeats for so many seconds.

    `of_controller`: gangs wait for another one, and the one that is cut off leads no more.
    """
    if pod.get("status", {}).get("phase") in _ENDED:
        return Fate.LEAVE
    if pod["metadata"].get("annotations", {}).get(FENCED) == "true":
        return Fate.END
    # A Deployment starts another pod at once; a Job waits for the end of this one.
    if replica_set(pod) and (of_controller or silent >= REPLACED_AFTER) and "deletionTimestamp" not in pod["metadata"]:
        return Fate.REPLACE
    return Fate.LEAVE


def silence(node: str, seconds: float) -> str:
    """What is the matter with a lost node."""
    return f"node {node} has sent no heartbeat for {seconds:.0f} s"


def unready(message: str) -> dict[str, Any]:
    """The status of a pod that gets no requests, as Kubernetes sets it when it gives a node up. A kubelet that is back
    puts it right."""
    return {"conditions": [{"type": "Ready", "status": "False", "reason": "NodeLost", "message": message}]}


def ended(message: str) -> dict[str, Any]:
    """The status of a pod that is ended by force: one that the node took along, not a failure of its own."""
    return {
        "phase": "Failed",
        "reason": "NodeLost",
        "message": message,
        "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "NodeLost", "message": message}],
    }
