"""Checks of snapshot schedules against the limits of AWS Backup, which takes snapshots of AWS' file systems."""

from collections.abc import Iterator

from tensorplane.components.base import cron
from tensorplane.components.base.problems import Problem
from tensorplane.components.volumes.snapshots.settings import SnapshotsArgs

_DAY = 24 * 3600


def find_problems(args: SnapshotsArgs | None) -> Iterator[Problem]:
    """AWS Backup runs at most once an hour and keeps backups by age, in days. Paths are relative to the volume."""
    if args is None:
        return
    if args.keep is not None:
        yield Problem(
            ("snapshots", "keep"), "is set, but AWS Backup keeps snapshots by age only; remove it, and set expire"
        )
    elif args.expire_seconds is None or args.expire_seconds % _DAY:
        found = "missing" if args.expire is None else f"is {args.expire}"
        yield Problem(
            ("snapshots", "expire"), f"{found}, but AWS Backup keeps snapshots for whole days; set one such as 30d"
        )
    if cron.both_days(args.schedule):
        reason = "names days of the month and of the week, but AWS Backup supports one of them; remove one"
        yield Problem(("snapshots", "schedule"), reason)
    if not args.schedule.split()[0].isdigit():
        reason = (
            f"{args.schedule!r} runs more than once an hour, which AWS Backup does not support; set one "
            f"minute, as in 0 * * * *"
        )
        yield Problem(("snapshots", "schedule"), reason)
