"""One run of a schedule: `python -m snapshotter VOLUME CLASS [--group] [--keep=N] [--expire=SECONDS]`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from snapshotter.api import Api
from snapshotter.group import GroupApi
from snapshotter.manifest import MANUAL, SCHEDULE
from snapshotter.retention import Snapshot, past, stuck

_SECONDS_BETWEEN_LOOKS = 2
_SECONDS_OF_A_MINUTE = 60


def named(volume: str, job: str, now: datetime) -> tuple[str, str]:
    """The snapshot's name, and why it is taken.

    A CronJob's own jobs end with the minute that they were due, so that a second try of one is the same snapshot.
    """
    due = job.rpartition("-")[2]
    if job == f"snapshots-{volume}-{due}" and due.isdigit():
        moment = datetime.fromtimestamp(int(due) * _SECONDS_OF_A_MINUTE, UTC)
        return f"{volume}-{moment:%Y%m%d-%H%M}", SCHEDULE
    return f"{volume}-{now:%Y%m%d-%H%M%S}", MANUAL


def run(api: Api, arguments: argparse.Namespace, job: str) -> None:
    """Take one, wait for it, and only then delete what is past. SystemExit where the driver owes too many already."""
    name, reason = named(arguments.volume, job, datetime.now(UTC))
    if reason == SCHEDULE:
        _check_driver(api.taken_on_schedule(arguments.volume), name, arguments.keep)
    api.take(name, arguments.volume, arguments.snapshot_class, reason)
    while not api.is_ready(name):
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    api.finish(name, arguments.volume)
    print(f"{name}: ready", flush=True)
    expire = timedelta(seconds=arguments.expire) if arguments.expire else None
    for old in past(api.taken_on_schedule(arguments.volume), datetime.now(UTC), keep=arguments.keep, expire=expire):
        api.delete(old)
        print(f"{old.name}: deleted", flush=True)


def _check_driver(taken: Sequence[Snapshot], name: str, keep: int) -> None:
    if any(one.name == name for one in taken):  # a second try waits for what the first has asked for
        return
    if waiting := stuck(taken, keep=keep):
        raise SystemExit(
            f"{name}: not taken, the last {len(waiting)} are not ready, {waiting[-1].name} to {waiting[0].name}: "
            "`kubectl describe` them to see why, repair the driver, or delete them"
        )


def parsed(words: list[str] | None = None) -> argparse.Namespace:
    """What the CronJob says."""
    parser = argparse.ArgumentParser(prog="snapshotter", description=__doc__)
    parser.add_argument("volume")
    parser.add_argument("snapshot_class")
    parser.add_argument("--group", action="store_true", help="VOLUME is a group of them, taken at one instant")
    parser.add_argument("--keep", type=int, default=sys.maxsize)
    parser.add_argument("--expire", type=int)
    return parser.parse_args(words)


if __name__ == "__main__":
    asked = parsed()
    server = GroupApi if asked.group else Api
    run(server(os.environ["NAMESPACE"]), asked, os.environ["JOB_NAME"])
