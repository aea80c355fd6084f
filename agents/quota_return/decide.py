"""Whether an admitted Workload cannot start: its pods are refused, or no present or future node fits them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from .objects import Object, condition, created, holds, last_seen, owners, parse_time, uid

REFUSED = ("FailedCreate", "JobCreationFailed")
"""Events of a Job whose pods, or of a JobSet whose Jobs, the API server refuses."""
HOPELESS = ("NotTriggerScaleUp", "FailedScheduling")
"""Events of a pod for which the cluster autoscaler or Karpenter adds no node."""
HOPEFUL = ("TriggeredScaleUp", "Nominated")
"""Events of a pod for which they add one."""
KARPENTER = "karpenter"

# A node may still be added: the cluster autoscaler retries the group later (its skippedreasons.go), or the cloud is out
# of a machine that Karpenter asked for (its InstanceTypeFilterError).
_MAY_COME = (
    "in backoff after failed scale-up",
    "not ready for scale-up",
    "has the required offering",
    "had enough resources, had a required offering",
)
_ENDED_PHASES = ("Succeeded", "Failed")
_SLACK = timedelta(seconds=30)
"""How long a pod may outlast its grace period."""
_MOST_MESSAGE_CHARACTERS = 500
_REFUSAL_PREFIX = re.compile(r'^Error creating: (pods "[^"]*" is forbidden: )?')
"""What precedes the reason, with the name of a pod that does not exist."""


@dataclass(frozen=True)
class Observed:
    """What one reconcile has read of the objects that belong to a Workload."""

    jobs: Sequence[Object] = ()
    """Those of its namespace."""
    pods: Sequence[Object] = ()
    """Those of all the stack's namespaces: terminating ones will free capacity."""
    events: Sequence[Object] = ()
    """Those of its namespace with the reasons above."""
    nodes_are_added: bool = True
    """Whether anything adds nodes; if not, what the scheduler reports decides."""


def waits_since(workload: Object) -> datetime | None:
    """Since when it holds quota without running; None if it runs, holds no quota or is being stopped."""
    gone = "deletionTimestamp" in workload["metadata"] or not workload["spec"].get("active", True)
    if gone or holds(workload, "Finished") or holds(workload, "Evicted"):
        return None
    if not holds(workload, "Admitted") or holds(workload, "PodsReady"):
        return None
    # A Workload that lost a pod waits since then.
    changes = (condition(workload, kind).get("lastTransitionTime") for kind in ("Admitted", "PodsReady"))
    return max(parse_time(each) for each in changes)


def why_stalled(workload: Object, observed: Observed, now: datetime, after: timedelta) -> str | None:
    """Why it cannot start; None if it runs, waits for a node or an image, or has waited less than `after`."""
    since = waits_since(workload)
    if since is None or now - since < after:
        return None
    whose = owners(workload) | {uid(workload)}
    jobs = {uid(job) for job in observed.jobs if owners(job) & whose or uid(job) in whose}
    pods = [pod for pod in observed.pods if owners(pod) & jobs and _phase(pod) != "Failed"]
    pods = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    about = [event for event in observed.events if last_seen(event) >= since]
    refusal = _refusal(workload, pods, [event for event in about if _object(event) in jobs | whose])
    if refusal and not _leaving(observed.pods, now, workload["metadata"]["namespace"]):
        return _short(f"its pods are refused: {_REFUSAL_PREFIX.sub('', refusal)}")
    homeless = _homeless(pods, about) if observed.nodes_are_added else _unplaced(pods, now - after / 2)
    if homeless and not _leaving(observed.pods, now):
        return _short(f"no node can hold its pods: {homeless}")
    return None


def _refusal(workload: Object, pods: Sequence[Object], events: Iterable[Object]) -> str | None:
    """Why the API server refuses the missing pods, since the last pod that it accepted."""
    assigned = ((workload.get("status") or {}).get("admission") or {}).get("podSetAssignments") or ()
    wanted = sum(each.get("count", 0) for each in assigned)
    if len(pods) >= wanted:
        return None
    newest = max(map(created, pods), default=created(workload))
    latest = [event for event in events if event.get("reason") in REFUSED and last_seen(event) >= newest]
    return _message(max(latest, key=last_seen)) if latest else None


def _homeless(pods: Iterable[Object], events: Sequence[Object]) -> str | None:
    """Why no node is added for an unscheduled pod."""
    for pod in pods:
        if not _unschedulable(pod):
            continue
        about = [event for event in events if _object(event) == uid(pod)]
        hopeless = [event for event in about if _is_hopeless(event)]
        hopeful = [last_seen(event) for event in about if event.get("reason") in HOPEFUL]
        if not hopeless:
            continue
        last = max(hopeless, key=last_seen)
        comes = any(words in _message(last) for words in _MAY_COME)
        if not comes and all(then < last_seen(last) for then in hopeful):
            return _message(last)
    return None


def _unplaced(pods: Iterable[Object], before: datetime) -> str | None:
    """Why the scheduler finds no node for a pod that has waited since `before`."""
    for pod in pods:
        scheduled = condition(pod, "PodScheduled")
        if _unschedulable(pod) and parse_time(scheduled.get("lastTransitionTime")) <= before:
            return _message(scheduled)
    return None


def _unschedulable(pod: Object) -> bool:
    return not pod["spec"].get("nodeName") and condition(pod, "PodScheduled").get("reason") == "Unschedulable"


def _is_hopeless(event: Object) -> bool:
    by = {(event.get("source") or {}).get("component"), event.get("reportingComponent")}
    # The scheduler reports this reason for pods whose node is being added, too.
    return event.get("reason") == "NotTriggerScaleUp" or (event.get("reason") == "FailedScheduling" and KARPENTER in by)


def _leaving(pods: Iterable[Object], now: datetime, namespace: str | None = None) -> bool:
    """Whether a pod is terminating, such as a preempted one: it will free capacity of its node and its ResourceQuota.

    One that outlasts its grace period does not count.
    """
    return any(
        parse_time(pod["metadata"].get("deletionTimestamp")) > now - _SLACK
        for pod in pods
        if pod["spec"].get("nodeName") and _phase(pod) not in _ENDED_PHASES
        if namespace is None or pod["metadata"]["namespace"] == namespace
    )


def _object(event: Object) -> str:
    return str((event.get("involvedObject") or {}).get("uid", ""))


def _message(reported: Object) -> str:
    return str(reported.get("message") or "").strip().rstrip(".")


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase", ""))


def _short(text: str) -> str:
    return text if len(text) <= _MOST_MESSAGE_CHARACTERS else f"{text[: _MOST_MESSAGE_CHARACTERS - 1]}…"
