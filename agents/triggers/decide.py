"""Which trigger requests a run, from what is new and from its schedule. Pure functions."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from agents.triggers.spec import BYTES, FILES, VERSIONS, Trigger

_MIB = 2**20
_NOUNS = {"versions": "version", "files": "file", "windows": "window"}


@dataclass(frozen=True)
class Observed:
    """What one reconcile has read."""

    counts: Mapping[str, Mapping[str, int]]
    """What is new since the last run, by the run's parameters."""
    reason: str
    """Why a run is needed though no version is new; empty if it is not."""
    quiet: float
    """Seconds since a new commit was last observed."""
    waited: Mapping[str, float] = field(default_factory=dict)
    """Seconds since each trigger first requested the run, by trigger."""
    scheduled: Mapping[str, int] = field(default_factory=dict)
    """The time of each schedule that has passed without a run, in minutes since 1970, by trigger."""


def parameters_to_compare(triggers: Sequence[Trigger], counts: Mapping[str, Mapping[str, int]]) -> set[str]:
    """The parameters whose count of files in commits reaches a trigger's limit: how many files differ decides then."""
    found = [one for one in triggers if one.counts in (FILES, BYTES) and _count(one, counts) >= one.at_least]
    return {name for one in found for name in one.sources}


def requests(triggers: Sequence[Trigger], observed: Observed) -> dict[str, str]:
    """The triggers that request a run, whether or not it has to wait, and why."""
    return {one.name: why for one in triggers if (why := _why(one, observed))}


def ready_requests(triggers: Sequence[Trigger], observed: Observed) -> dict[str, str]:
    """The requests whose run need not wait for further commits."""
    every = requests(triggers, observed)
    return {one.name: every[one.name] for one in triggers if one.name in every and not _waits(one, observed)}


def _why(trigger: Trigger, observed: Observed) -> str:
    if trigger.counts is None:
        return "its schedule" if trigger.name in observed.scheduled else ""
    count = _count(trigger, observed.counts)
    if count >= trigger.at_least:
        return _amount(trigger.counts, count)
    return observed.reason if trigger.counts == VERSIONS else ""


def _count(trigger: Trigger, counts: Mapping[str, Mapping[str, int]]) -> int:
    return sum(counts[name][trigger.counts] for name in trigger.sources if trigger.counts)


def _amount(counts: str, count: int) -> str:
    if counts == BYTES:
        return f"{count / _MIB:,.1f} MiB new"
    return f"{count:,} new {_NOUNS[counts]}{'' if count == 1 else 's'}"


def _waits(trigger: Trigger, observed: Observed) -> bool:
    return observed.quiet < trigger.quiet_seconds and observed.waited.get(trigger.name, 0.0) < trigger.longest_seconds


_LONGEST_MINUTES = 366 * 24 * 60
"""After a longer pause, earlier times are not looked for."""
_DAY, _WEEKDAY = 2, 4
_DIGITS = 16


def schedule_digest(schedule: Sequence[Collection[int] | None]) -> str:
    """A digest of a schedule, to see whether it was changed."""
    text = json.dumps([None if allowed is None else sorted(allowed) for allowed in schedule])
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def last_scheduled(schedule: Sequence[Collection[int] | None], after: int, until: int) -> int | None:
    """The last minute that matches, later than `after` and not later than `until`; None if there is none."""
    for minute in range(until, max(after, until - _LONGEST_MINUTES), -1):
        if matches(schedule, minute):
            return minute
    return None


def matches(schedule: Sequence[Collection[int] | None], minute: int) -> bool:
    """Whether cron would run. With both a day of the month and a day of the week, it runs on either."""
    at = time.gmtime(minute * 60)
    values = (at.tm_min, at.tm_hour, at.tm_mday, at.tm_mon, (at.tm_wday + 1) % 7)
    met = [allowed is None or value in allowed for allowed, value in zip(schedule, values, strict=True)]
    if schedule[_DAY] is not None and schedule[_WEEKDAY] is not None:
        met[_DAY] = met[_WEEKDAY] = met[_DAY] or met[_WEEKDAY]
    return all(met)
