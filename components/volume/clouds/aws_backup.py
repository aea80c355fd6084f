"""What AWS Backup, which takes the snapshots of AWS' file systems, can keep and when."""

from collections.abc import Iterator

from components.faults import Fault
from components.volume import cron
from components.volume.snapshot_schedule import SnapshotsArgs

_DAY = 24 * 3600


def faults(asked: SnapshotsArgs | None) -> Iterator[Fault]:
    """AWS Backup takes at most one an hour, and keeps by age, in days. Paths begin at the volume."""
    if asked is None:
        return
    if asked.keep is not None:
        yield Fault(("snapshots", "keep"), "given, and AWS Backup keeps by age alone: leave it out, and set expire")
    if asked.expire_seconds is None or asked.expire_seconds % _DAY:
        found = "missing" if asked.expire is None else f"got {asked.expire}"
        yield Fault(("snapshots", "expire"), f"{found}, AWS Backup needs an age in whole days, such as 30d")
    if cron.both_days(asked.schedule):
        reason = "got a day of the month and one of the week, of which AWS Backup takes one"
        yield Fault(("snapshots", "schedule"), reason)
    if not asked.schedule.split()[0].isdigit():
        reason = f"got {asked.schedule!r}, AWS Backup takes at most one an hour: need one minute, such as 0 * * * *"
        yield Fault(("snapshots", "schedule"), reason)
