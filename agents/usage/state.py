"""The state of one namespace: GPU-seconds by month, queue and flavor, and how much of each Workload they contain.

Both are one object, which is written as a whole or not at all. So a Workload's seconds are counted once, whenever the
program is killed: the next reconcile compares the Workload with the state of the same Workload.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from .workload import UNKNOWN, WorkloadUsage

USAGE, WORKLOADS = "usage", "counted"
"""Keys of the ConfigMap: the sums, and how much of each Workload that still exists they contain."""
PREFIX = "usage."
"""Before the namespace in the ConfigMap's name. No object of a workload has it: their names hold no dot."""
_DONE: Mapping[str, Any] = {}

Sums = dict[str, dict[str, dict[str, float]]]
"""GPU-seconds by month (2026-11), queue and flavor."""


@dataclass(frozen=True)
class UsageState:
    """The recorded usage of one namespace."""

    usage: Sums = field(default_factory=dict)
    workloads: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By Workload: `past`, the whole seconds of former admissions; `since`, the beginning of the present one;
    `seconds`, what is counted of it; `gpus`, by flavor. Empty for a finished one, which is counted completely."""

    @classmethod
    def from_data(cls, data: Mapping[str, str]) -> UsageState:
        """From the ConfigMap's data."""
        return cls(json.loads(data.get(USAGE) or "{}"), json.loads(data.get(WORKLOADS) or "{}"))

    def to_data(self) -> dict[str, str]:
        """As the ConfigMap's data."""
        return {
            USAGE: json.dumps(self.usage, sort_keys=True),
            WORKLOADS: json.dumps(self.workloads, sort_keys=True, separators=(",", ":")),
        }


def count(before: UsageState, workloads: Iterable[WorkloadUsage]) -> UsageState:
    """The state with everything that these Workloads, all that exist, have used since."""
    usage: Sums = json.loads(json.dumps(before.usage))
    after: dict[str, Mapping[str, Any]] = {}
    for one in workloads:
        known = before.workloads.get(one.key)
        if known == _DONE:
            after[one.key] = _DONE
            continue
        seconds, state = _uncounted(known, one)
        for month, part in _by_month(one.counted_until, seconds):
            of_queue = usage.setdefault(month, {}).setdefault(one.queue, {})
            for flavor, gpus in state["gpus"].items():
                of_queue[flavor] = round(of_queue.get(flavor, 0) + part * gpus, 3)
        after[one.key] = _DONE if one.finished else state
    return UsageState(usage, after)


def _uncounted(known: Mapping[str, Any] | None, one: WorkloadUsage) -> tuple[float, dict[str, Any]]:
    """Seconds that are not counted yet, and the state once they are."""
    running = max((one.counted_until - one.admitted_since).total_seconds(), 0) if one.admitted_since else 0.0
    since = one.admitted_since.isoformat() if one.admitted_since else None
    gpus = dict(one.gpus)
    if known and set(gpus) == {UNKNOWN}:
        gpus = dict(known["gpus"])
    state = {"past": one.past_seconds, "since": since, "seconds": running, "gpus": gpus}
    if known is None:
        return one.past_seconds + running, state
    if since and since == known["since"]:
        state["seconds"] = max(running, known["seconds"])
        return max(running - known["seconds"], 0), state
    # Kueue sets the sum of former admissions back when a job has run for its maximum time.
    before = (known["past"] if one.past_seconds >= known["past"] else 0) + known["seconds"]
    return max(one.past_seconds - before, 0) + running, state


def _by_month(end: datetime, seconds: float) -> Iterator[tuple[str, float]]:
    """The months of the seconds that end then."""
    while seconds > 0:
        # The moment before, so that the first one of a month belongs to the month that it ends.
        month = (
            (end - timedelta(microseconds=1)).astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        )
        part = min(seconds, (end - month).total_seconds())
        yield f"{month:%Y-%m}", part
        seconds, end = seconds - part, month
