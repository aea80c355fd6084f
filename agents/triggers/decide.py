"""Which trigger requests a run, from what is new and from its schedule. Pure functions."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from .spec import BYTES, FILES, VERSIONS, Trigger

_MIB = 2**20
_NOUNS = {"versions": "version", "files": "file", "windows": "window"}


@dataclass(frozen=True)
class Observed:
    """What one reconcile has read."""

    counts: Mapping[str, Mapping[str, int]]
    """What is new since the last run, by the run's parameters and then by unit."""
    reason: str
    """Why a run is needed though no version is new; empty if it is not."""
    seconds_since_commit: float
    """Since a new commit was last observed."""
    waited_seconds: Mapping[str, float] = field(default_factory=dict)
    """Since each trigger first requested the run, by trigger."""
    scheduled: Mapping[str, int] = field(default_factory=dict)
    """The time of each schedule that has passed without a run, in minutes since 1970, by trigger."""


def parameters_to_compare(triggers: Sequence[Trigger], counts: Mapping[str, Mapping[str, int]]) -> set[str]:
    """The parameters whose versions must be compared before a trigger on files or bytes may request a run.

    Counts add up the files of all commits, also of such as a later commit changed back or deleted. Comparing is slow,
    so only versions are compared whose counts reach the limit.
    """
    found = [trigger for trigger in triggers if trigger.unit in (FILES, BYTES) and _reaches_limit(trigger, counts)]
    return {name for trigger in found for name in trigger.sources}


def requests(triggers: Sequence[Trigger], observed: Observed) -> dict[str, str]:
    """The triggers that request a run, whether or not it has to wait, and why."""
    return {trigger.name: reason for trigger in triggers if (reason := _reason(trigger, observed))}


def ready_requests(triggers: Sequence[Trigger], observed: Observed) -> dict[str, str]:
    """The requests whose run need not wait for further commits."""
    reasons = requests(triggers, observed)
    ready = (trigger for trigger in triggers if trigger.name in reasons and not _waits(trigger, observed))
    return {trigger.name: reasons[trigger.name] for trigger in ready}


def _reason(trigger: Trigger, observed: Observed) -> str:
    if trigger.unit is None:
        return "its schedule" if trigger.name in observed.scheduled else ""
    if _reaches_limit(trigger, observed.counts):
        return _amount(trigger.unit, _count(trigger, observed.counts))
    return observed.reason if trigger.unit == VERSIONS else ""


def _reaches_limit(trigger: Trigger, counts: Mapping[str, Mapping[str, int]]) -> bool:
    return _count(trigger, counts) >= trigger.at_least


def _count(trigger: Trigger, counts: Mapping[str, Mapping[str, int]]) -> int:
    return sum(counts[name][trigger.unit] for name in trigger.sources if trigger.unit)


def _amount(unit: str, count: int) -> str:
    if unit == BYTES:
        return f"{count / _MIB:,.1f} MiB new"
    return f"{count:,} new {_NOUNS[unit]}{'' if count == 1 else 's'}"


def _waits(trigger: Trigger, observed: Observed) -> bool:
    if observed.seconds_since_commit >= trigger.quiet_seconds:
        return False
    return observed.waited_seconds.get(trigger.name, 0.0) < trigger.max_wait_seconds


_LOOKBACK_MINUTES = 366 * 24 * 60
"""How far back a scheduled time is looked for, after a pause of the controller."""
_DAY_OF_MONTH, _DAY_OF_WEEK = 2, 4
"""Positions in a schedule."""
_DIGEST_LENGTH = 16


def schedule_digest(schedule: Sequence[Collection[int] | None]) -> str:
    """A digest of a schedule, to see whether it was changed."""
    text = json.dumps([None if allowed is None else sorted(allowed) for allowed in schedule])
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]


def last_scheduled(schedule: Sequence[Collection[int] | None], after: int, until: int) -> int | None:
    """The last minute that matches, later than `after` and not later than `until`; None if there is none."""
    for minute in range(until, max(after, until - _LOOKBACK_MINUTES), -1):
        if matches(schedule, minute):
            return minute
    return None


def matches(schedule: Sequence[Collection[int] | None], minute: int) -> bool:
    """Whether cron would run. With both a day of the month and a day of the week, it runs on either."""
    moment = time.gmtime(minute * 60)
    values = (moment.tm_min, moment.tm_hour, moment.tm_mday, moment.tm_mon, (moment.tm_wday + 1) % 7)
    matching = [allowed is None or value in allowed for allowed, value in zip(schedule, values, strict=True)]
    if schedule[_DAY_OF_MONTH] is not None and schedule[_DAY_OF_WEEK] is not None:
        matching[_DAY_OF_MONTH] = matching[_DAY_OF_WEEK] = matching[_DAY_OF_MONTH] or matching[_DAY_OF_WEEK]
    return all(matching)
