"""The state of a Workload, in its annotations: why its quota was returned, how often, and when it is retried."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from .objects import Object, holds, parse_time

RETURN_REASON = "tensorplane.dev/quota-returned"
"""Why its quota was returned."""
RETURN_COUNT = "tensorplane.dev/quota-returned-times"
"""How many times its quota was returned since it last ran."""
RETRY_AT = "tensorplane.dev/tried-again-at"
"""When it becomes active again. Without it, somebody else deactivated the Workload, and it stays inactive."""


@dataclass(frozen=True)
class Delays:
    """Delays."""

    after: timedelta = timedelta(seconds=60)
    """From admission until a job that cannot start returns its quota."""
    first: timedelta = timedelta(minutes=2)
    """From there to the first retry; the delay doubles with each further one."""
    most: timedelta = timedelta(minutes=20)
    """The longest delay of a retry."""
    tries: int = 20
    """Retries before the job stays inactive, as many as Kueue's own."""

    def wait(self, times: int) -> timedelta:
        """The delay of a job that has returned its quota this many times."""
        doublings = min(max(times - 1, 0), 30)
        return min(self.first * (1 << doublings), self.most)


def times(workload: Object) -> int:
    """How many times it has returned its quota since it last ran."""
    text = _annotations(workload).get(RETURN_COUNT, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def return_quota(workload: Object, reason: str, now: datetime, delays: Delays) -> Object:
    """The change that makes Kueue evict it."""
    count = times(workload) + 1
    again = f"{now + delays.wait(count):%Y-%m-%dT%H:%M:%SZ}" if count < delays.tries else None
    return _change(workload, {RETURN_REASON: reason, RETURN_COUNT: str(count), RETRY_AT: again}, active=False)


def next_change(workload: Object, now: datetime, delays: Delays) -> Object | None:
    """The change that it needs whatever state its pods are in; None if it needs none."""
    about = _annotations(workload)
    if (
        "deletionTimestamp" in workload["metadata"]
        or holds(workload, "Finished")
        or not about.keys() & {RETRY_AT, RETURN_COUNT}
    ):
        return None
    if not workload["spec"].get("active", True):
        if RETRY_AT not in about or parse_annotation(about[RETRY_AT]) > now or holds(workload, "QuotaReserved"):
            return None
        return _change(workload, {RETRY_AT: None}, active=True)
    # It runs, or somebody activated it after its last retry.
    if (holds(workload, "Admitted") and holds(workload, "PodsReady")) or times(workload) >= delays.tries:
        return _change(workload, {RETURN_REASON: None, RETURN_COUNT: None, RETRY_AT: None})
    # Somebody activated it early. If they deactivate it later, it stays inactive.
    return _change(workload, {RETRY_AT: None}) if RETRY_AT in about else None


def parse_annotation(text: str) -> datetime:
    """The time in an annotation; text that is not a time counts as past."""
    try:
        found = parse_time(text)
    except ValueError:
        return parse_time(None)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _annotations(workload: Object) -> dict[str, str]:
    return workload["metadata"].get("annotations") or {}


def _change(workload: Object, annotations: dict[str, str | None], *, active: bool | None = None) -> Object:
    # The API server refuses the change if the Workload has changed since.
    about = {"resourceVersion": workload["metadata"]["resourceVersion"], "annotations": annotations}
    change: dict[str, Any] = {"metadata": about}
    return change if active is None else {**change, "spec": {"active": active}}
