"""Checks of snapshot schedules against the limits of AWS Backup, which takes snapshots of AWS' file systems."""

from collections.abc import Iterator

from components.base import cron
from components.base.problems import Problem
from components.volumes.snapshots.settings import SnapshotsArgs

_DAY = 24 * 3600


def find_problems(asked: SnapshotsArgs | None) -> Iterator[Problem]:
    """AWS Backup runs at most once an hour and keeps backups by age, in days. Paths are relative to the volume."""
    if asked is None:
        return
    if asked.keep is not None:
        yield Problem(
            ("snapshots", "keep"), "is set, but AWS Backup keeps snapshots by age only; remove it, and set expire"
        )
    elif asked.expire_seconds is None or asked.expire_seconds % _DAY:
        found = "missing" if asked.expire is None else f"is {asked.expire}"
        yield Problem(
            ("snapshots", "expire"), f"{found}, but AWS Backup keeps snapshots for whole days; set one such as 30d"
        )
    if cron.both_days(asked.schedule):
        reason = "names days of the month and of the week, but AWS Backup supports one of them; remove one"
        yield Problem(("snapshots", "schedule"), reason)
    if not asked.schedule.split()[0].isdigit():
        reason = (
            f"{asked.schedule!r} runs more than once an hour, which AWS Backup does not support; set one "
            f"minute, as in 0 * * * *"
        )
        yield Problem(("snapshots", "schedule"), reason)
