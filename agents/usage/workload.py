"""The usage of a Workload of Kueue: how long it was admitted, and the GPUs that it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]

GPU = "nvidia.com/gpu"
UNKNOWN = "unknown"
"""The flavor of GPUs that were held and returned between two reconciles."""


@dataclass(frozen=True)
class WorkloadUsage:
    """What a Workload has used, and uses now."""

    key: str
    """Short for its UID, of which the record has thousands."""
    queue: str
    past_seconds: int
    """Whole seconds of former admissions, as Kueue adds them up."""
    admitted_since: datetime | None
    """Since when it is admitted; None while it is not."""
    counted_until: datetime
    """Until when it counts: now, its end, or its eviction."""
    gpus: Mapping[str, int]
    """GPUs that it holds, by flavor. Those that it asks for, of an unknown flavor, while it holds none."""
    finished: bool


def read_usage(workload: Object, now: datetime) -> WorkloadUsage | None:
    """The use of one Workload; None if it asks for no GPUs."""
    spec, status = workload["spec"], workload.get("status") or {}
    gpus = _admitted_gpus(status) or _requested_gpus(spec)
    if not gpus:
        return None
    finished, admitted = _condition(status, "Finished"), _condition(status, "Admitted")
    is_admitted = admitted.get("status") == "True"
    ended = finished.get("status") == "True"
    changed = finished if ended else admitted if admitted and not is_admitted else {}
    return WorkloadUsage(
        key=str(workload["metadata"]["uid"]).replace("-", "")[:16],
        queue=str(spec.get("queueName", "")),
        past_seconds=int(status.get("accumulatedPastExecutionTimeSeconds") or 0),
        admitted_since=_transition_time(admitted) if is_admitted else None,
        counted_until=min(_transition_time(changed) or now, now),
        gpus=gpus,
        finished=ended,
    )


def _admitted_gpus(status: Object) -> dict[str, int]:
    """By flavor, without pods that have ended and whose quota Kueue has given to others."""
    reclaimable = {one["name"]: int(one["count"]) for one in status.get("reclaimablePods") or ()}
    found: Counter[str] = Counter()
    for each in (status.get("admission") or {}).get("podSetAssignments") or ():
        gpus, count = _count((each.get("resourceUsage") or {}).get(GPU)), int(each.get("count") or 1)
        if gpus:
            remaining = max(count - reclaimable.get(each["name"], 0), 0)
            found[str((each.get("flavors") or {}).get(GPU, UNKNOWN))] += gpus * remaining // count
    return dict(found)


def _requested_gpus(spec: Object) -> dict[str, int]:
    total = 0
    for each in spec.get("podSets") or ():
        containers = each["template"]["spec"]["containers"]
        total += int(each.get("count", 1)) * sum(map(_gpus, containers))
    return {UNKNOWN: total} if total else {}


def _gpus(container: Object) -> int:
    resources = container.get("resources") or {}
    return _count({**(resources.get("limits") or {}), **(resources.get("requests") or {})}.get(GPU))


def _count(quantity: str | None) -> int:
    """Kubernetes writes 2000 GPUs as 2k."""
    text = str(quantity or 0)
    return int(text[:-1]) * 1000 if text.endswith("k") else int(text)


def _condition(status: Object, condition_type: str) -> Object:
    return next((one for one in status.get("conditions") or () if one["type"] == condition_type), {})


def _transition_time(condition: Object) -> datetime | None:
    text = condition.get("lastTransitionTime")
    return datetime.fromisoformat(text).astimezone(UTC) if text else None
