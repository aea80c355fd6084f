"""Why pods of a training job ended badly or cannot begin, read from what Kubernetes notes of their containers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]

EXIT_SAVED = 75
"""How a pod ends that was asked to stop and has saved (`runtime/stop.py`)."""
EXIT_SAME = 78
"""How a pod ends that failed twice in the same way before its first step (`runtime/launch.py`)."""
_KILLED = 137
_SHOWN = 8
_WIDTH = 300
# What the kubelet tries again for ever, though only another image or another setting helps.
_CANNOT_BEGIN = (
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
)


def first(pods: Iterable[Object]) -> list[str]:
    """How the first pod that failed by itself ended, and the last lines that it said; nothing where none is left.

    The others of a gang end because of it: stopped, or for want of a peer.
    """
    ended = [(pod, found) for pod in pods if (found := _terminated(pod))]
    ended = [(pod, found) for pod, found in ended if found.get("exitCode") or _evicted(pod)]
    if not ended:
        return []
    pod, found = min(ended, key=lambda each: (_by_others(*each), str(each[1].get("finishedAt") or "")))
    said = [line.rstrip()[:_WIDTH] for line in str(found.get("message") or "").splitlines() if line.strip()]
    return [f"{pod['metadata']['name']}: {_how(pod, found)}", *(f"  {line}" for line in said[-_SHOWN:])]


def in_short(pods: Iterable[Object]) -> str:
    """The same in one line: how it ended, and its last words."""
    found = first(pods)
    return ": ".join([found[0].partition(": ")[2], *(line.strip() for line in found[1:][-1:])]) if found else ""


def cannot_begin(pods: Iterable[Object]) -> str:
    """Why a pod cannot begin, where waiting does not help; empty where none is in such a state."""
    for pod in pods:
        for state in _states(pod):
            waiting = state.get("waiting") or {}
            if waiting.get("reason") in _CANNOT_BEGIN:
                said = " ".join(str(waiting.get("message") or "").split())
                return f"{pod['metadata']['name']}: {waiting['reason']}" + (f": {said[:_WIDTH]}" if said else "")
    return ""


def again(namespace: str, run: str) -> str:
    """How a run that has ended is run again: the settings are the same, so an update alone changes nothing."""
    return (
        f"To begin anew, raise `attempt` of the job. To go on from its checkpoints: kubectl -n {namespace} delete "
        f"jobset {run} --ignore-not-found, then pulumi up --refresh (docs/training.md#run-a-job-again)"
    )


def _states(pod: Object) -> list[Object]:
    status = pod.get("status") or {}
    statuses = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    return [each.get("state") or {} for each in statuses]


def _terminated(pod: Object) -> Object:
    """How its container ended; empty while it runs. A pod that was evicted may never have had one."""
    found: list[Object] = [state["terminated"] for state in _states(pod) if state.get("terminated")]
    failed = [each for each in found if each.get("exitCode")]
    return (failed or found or [{"message": ""} if _evicted(pod) else {}])[0]


def _evicted(pod: Object) -> str:
    """Why the cluster took the pod away; empty where it did not."""
    status = pod.get("status") or {}
    if status.get("reason"):
        return ": ".join(filter(None, (status["reason"], status.get("message"))))
    for one in status.get("conditions") or ():
        if one.get("type") == "DisruptionTarget" and one.get("status") == "True":
            return ": ".join(filter(None, (one.get("reason"), one.get("message"))))
    return ""


def _by_others(pod: Object, found: Object) -> bool:
    return bool(_evicted(pod)) or found.get("exitCode") in (EXIT_SAVED, 143)


def _how(pod: Object, found: Object) -> str:
    if why := _evicted(pod):
        return why
    code = found.get("exitCode")
    if found.get("reason") == "OOMKilled":
        limit = pod["spec"]["containers"][0].get("resources", {}).get("limits", {}).get("memory", "its limit")
        return f"OOMKilled (exit code {code}): it used more than {limit} of memory; raise resources.memoryGib"
    if code == EXIT_SAME:
        return f"exit code {code}: it failed twice in the same way before its first step, so it was not started again"
    if code == _KILLED:
        return f"exit code {code}: killed, often for want of memory; raise resources.memoryGib or look at the node"
    reason = found.get("reason")
    return f"exit code {code}" + (f" ({reason})" if reason and reason != "Error" else "")
