"""What an admitted job's pods wait for: nodes, the scheduler, images."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from tensorplane.cli.api_values import Object
from tensorplane.cli.kueue.objects import JobObjects, condition
from tensorplane.driver.runs import failures

_SCALING = {
    "TriggeredScaleUp": "nodes are being added",
    "Nominated": "a node is being created for it",
    "NotTriggerScaleUp": "no node group can grow for it",
    "FailedScaleUp": "nodes could not be added",
}
"""Reasons in events of the cluster autoscaler and Karpenter, with their meanings."""
_ENDED_PHASES = ("Succeeded", "Failed")
_REFUSAL_PREFIX = re.compile(
    r'^Error creating: (pods "[^"]*" is forbidden: )?|'
    r'^job "[^"]*" creation failed with error: (jobs\.batch "[^"]*" is forbidden: )?'
)
"""The text before the reason, with a name that nothing has."""
_REFUSED = {"FailedCreate": "pods", "JobCreationFailed": "Jobs"}
"""Reasons in events of Jobs and JobSets, and what the API server refuses."""


def all_run(details: JobObjects) -> bool:
    """Whether it has pods, and all of them are ready."""
    alive = _alive(_staying(details))
    return bool(alive) and not any(map(_holding, alive))


def reasons(details: JobObjects) -> tuple[str, ...]:
    """A sentence for each reason."""
    pods = _staying(details)
    alive = _alive(pods)
    refused = tuple(_refused(details, alive))
    if not alive:
        return refused or (("It has no pods yet.",) if not pods else ())
    unscheduled = [pod for pod in alive if not pod["spec"].get("nodeName")]
    lines = []
    if unscheduled:
        counts = Counter(failures.unscheduled(pod) or "not scheduled yet" for pod in unscheduled)
        lines += [f"{_of(count, alive)} no node yet: {reason}." for reason, count in counts.most_common()]
        lines += _scaling(unscheduled, details)
    waiting = Counter(filter(None, (_holding(pod) for pod in alive if pod["spec"].get("nodeName"))))
    lines += [
        f"{_of(count, alive)} a node but {'does' if len(alive) == 1 else 'do'} not run: {why}."
        for why, count in waiting.most_common()
    ]
    return (*refused, *lines)


def _staying(details: JobObjects) -> list[Object]:
    """Pods that are not being deleted."""
    return [pod for pod in details.pods if "deletionTimestamp" not in pod["metadata"]]


def _alive(pods: Sequence[Object]) -> list[Object]:
    return [pod for pod in pods if (pod.get("status") or {}).get("phase") not in _ENDED_PHASES]


def _of(count: int, alive: Sequence[Object]) -> str:
    return "Its pod has" if len(alive) == 1 else f"{count} of {len(alive)} pods have"


def _refused(details: JobObjects, alive: Sequence[Object]) -> Iterator[str]:
    """The API server's last rejection of a pod or a Job since the last pod that it created."""
    taken = max((str(pod["metadata"].get("creationTimestamp", "")) for pod in alive), default="")
    rejections = [
        event
        for event in details.events
        if event.get("reason") in _REFUSED and _is_of(event, details.job_set) and _last_seen(event) >= taken
    ]
    if details.job_set and rejections:
        last = max(rejections, key=_last_seen)
        what = _REFUSED[last["reason"]]
        yield f"The API server refuses its {what}: {_REFUSAL_PREFIX.sub('', last.get('message', '')).rstrip('.')}."


def _is_of(event: Object, job_set: str) -> bool:
    about = event.get("involvedObject") or {}
    return about.get("kind") in ("Job", "JobSet") and f"{about.get('name', '')}-".startswith(job_set)


def _last_seen(event: Object) -> str:
    series = (event.get("series") or {}).get("lastObservedTime")
    return str(event.get("lastTimestamp") or series or event.get("eventTime") or "")


def _scaling(unscheduled: list[Object], details: JobObjects) -> list[str]:
    uids = {pod["metadata"]["uid"] for pod in unscheduled}
    latest: dict[str, str] = {}
    for event in details.events:
        if (event.get("involvedObject") or {}).get("uid") in uids and event.get("reason") in _SCALING:
            latest[event["reason"]] = event.get("message", "")
    return [f"{_SCALING[reason].capitalize()}: {message}" for reason, message in latest.items()]


def _holding(pod: Object) -> str:
    """Why a scheduled pod is not ready; empty if it is."""
    status = pod.get("status") or {}
    if status.get("phase") == "Running" and condition(pod, "Ready").holds:
        return ""
    for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        if (container.get("state") or {}).get("waiting"):
            return failures.waiting_reason(pod, container)
    return f"{status.get('phase', 'Pending')}, not ready"
