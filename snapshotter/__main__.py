"""One run of a schedule: `python -m snapshotter VOLUME CLASS [--group] [--keep=N] [--expire=SECONDS]`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from datetime import UTC, datetime, timedelta

from snapshotter.api import Api
from snapshotter.group import GroupApi
from snapshotter.manifest import MANUAL, SCHEDULE
from snapshotter.retention import past

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
    """Take one, wait for it, and only then delete what is past."""
    name, reason = named(arguments.volume, job, datetime.now(UTC))
    api.take(name, arguments.volume, arguments.snapshot_class, reason)
    while not api.is_ready(name):
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    api.finish(name, arguments.volume)
    print(f"{name}: ready", flush=True)
    expire = timedelta(seconds=arguments.expire) if arguments.expire else None
    for old in past(api.taken_on_schedule(arguments.volume), datetime.now(UTC), keep=arguments.keep, expire=expire):
        api.delete(old)
        print(f"{old.name}: deleted", flush=True)


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
