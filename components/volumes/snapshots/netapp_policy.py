"""Snapshot policies of Azure NetApp Files: hourly, daily, weekly or monthly, with a number to keep."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tensorplane.components.base import cron
from tensorplane.components.base.problems import Problem
from tensorplane.components.volumes.snapshots.settings import DEFAULT_KEEP, SnapshotsArgs

Rhythm = Literal["hourly", "daily", "weekly", "monthly"]

# learn.microsoft.com/azure/azure-netapp-files/azure-netapp-files-resource-limits
_MOST_KEPT = 255
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_SUPPORTED = "hourly (0 * * * *), daily (0 3 * * *), on days of the week (0 3 * * 1,4) or of the month (0 3 1,15 * *)"


@dataclass(frozen=True)
class Schedule:
    """A schedule in the terms of NetApp Files."""

    rhythm: Rhythm
    times: Mapping[str, int | str] = field(default_factory=dict)


def schedule(text: str) -> Schedule | None:
    """A valid cron schedule as one of NetApp Files; None if it has no equivalent."""
    minute, hour, day, month, weekday = cron.fields(text)
    if minute is None or len(minute) != 1 or month is not None:
        return None
    if hour is None:
        return Schedule("hourly", {"minute": minute[0]}) if day is None and weekday is None else None
    if len(hour) != 1 or (day is not None and weekday is not None):
        return None
    at: dict[str, int | str] = {"hour": hour[0], "minute": minute[0]}
    if weekday is not None:
        return Schedule("weekly", {**at, "day": ",".join(_DAYS[one] for one in weekday)})
    if day is not None:
        return Schedule("monthly", {**at, "days_of_month": ",".join(map(str, day))})
    return Schedule("daily", at)


def snapshot_count(snapshots: SnapshotsArgs) -> int:
    """Number of snapshots to keep."""
    return snapshots.keep or DEFAULT_KEEP


def find_problems(snapshots: SnapshotsArgs) -> Iterator[Problem]:
    """Problems of settings that a snapshot policy does not support. Paths are relative to the volume."""
    if schedule(snapshots.schedule) is None:
        reason = f"a snapshot policy of NetApp Files cannot run at {snapshots.schedule!r}; use {_SUPPORTED}"
        yield Problem(("snapshots", "schedule"), reason)
    if snapshots.expire is not None:
        yield Problem(
            ("snapshots", "expire"),
            "is set, but a snapshot policy of NetApp Files keeps snapshots by number only; remove it, and set keep",
        )
    if snapshot_count(snapshots) > _MOST_KEPT:
        yield Problem(
            ("snapshots", "keep"),
            f"{snapshots.keep} exceeds the {_MOST_KEPT} snapshots of a NetApp volume; set {_MOST_KEPT} or less",
        )
