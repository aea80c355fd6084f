"""What an admitted job's pods wait for: nodes, the scheduler, images."""

from __future__ import annotations

from collections import Counter

from cli.queue_facts import Details, Object, condition

_SCALING = {
    "TriggeredScaleUp": "nodes are being added",
    "Nominated": "a node is being made for it",
    "NotTriggerScaleUp": "no group of nodes can grow for it",
    "FailedScaleUp": "nodes could not be added",
}
"""Reasons of the cluster autoscaler's events and of Karpenter's, with what they mean."""
_GONE = ("Succeeded", "Failed")


def told(details: Details) -> tuple[str, ...]:
    """A sentence for each reason."""
    pods = [pod for pod in details.pods if "deletionTimestamp" not in pod["metadata"]]
    alive = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in _GONE]
    if not alive:
        return ("It has no pods yet.",) if not pods else ()
    homeless = [pod for pod in alive if not pod["spec"].get("nodeName")]
    lines = []
    if homeless:
        reasons = Counter(condition(pod, "PodScheduled").message or "not scheduled yet" for pod in homeless)
        lines += [
            f"{count} of {len(alive)} pods have no node yet: {reason.rstrip('.')}."
            for reason, count in reasons.most_common()
        ]
        lines += _scaling(homeless, details)
    waiting = Counter(filter(None, (_holding(pod) for pod in alive if pod["spec"].get("nodeName"))))
    lines += [
        f"{count} of {len(alive)} pods have a node and do not run: {why}." for why, count in waiting.most_common()
    ]
    return tuple(lines)


def _scaling(homeless: list[Object], details: Details) -> list[str]:
    uids = {pod["metadata"]["uid"] for pod in homeless}
    latest: dict[str, str] = {}
    for event in details.events:
        if (event.get("involvedObject") or {}).get("uid") in uids and event.get("reason") in _SCALING:
            latest[event["reason"]] = event.get("message", "")
    return [f"{_SCALING[reason].capitalize()}: {message}" for reason, message in latest.items()]


def _holding(pod: Object) -> str:
    """Why a pod on a node is not ready; empty where it is."""
    status = pod.get("status") or {}
    if status.get("phase") == "Running" and condition(pod, "Ready").holds:
        return ""
    for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        waiting = (container.get("state") or {}).get("waiting")
        if waiting:
            return ": ".join(filter(None, (waiting.get("reason"), waiting.get("message"))))
    return f"{status.get('phase', 'Pending')}, not ready"
