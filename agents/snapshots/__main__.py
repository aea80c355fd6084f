"""One run of a schedule: `python3 -m agents.snapshots VOLUME CLASS [OPTIONS]`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from .manifest import MANUAL, SCHEDULE, snapshot_name
from .retention import Snapshot, expired, never_ready
from .volume_group_snapshots import VolumeGroupSnapshots
from .volume_snapshots import VolumeSnapshots

_SECONDS_BETWEEN_CHECKS = 2
_SECONDS_OF_A_MINUTE = 60


def name_and_reason(volume: str, job: str, now: datetime) -> tuple[str, str]:
    """The snapshot's name and reason. The name of a CronJob's Job ends with the minute that it was due."""
    due = job.rpartition("-")[2]
    if job == f"snapshots-{volume}-{due}" and due.isdigit():
        moment = datetime.fromtimestamp(int(due) * _SECONDS_OF_A_MINUTE, UTC)
        return snapshot_name(volume, moment, SCHEDULE), SCHEDULE
    return snapshot_name(volume, now, MANUAL), MANUAL


def run(snapshots: VolumeSnapshots, arguments: argparse.Namespace, job: str) -> None:
    """Takes a snapshot, waits until it is ready, deletes expired ones. SystemExit if too many are still not ready."""
    name, reason = name_and_reason(arguments.volume, job, datetime.now(UTC))
    if reason == SCHEDULE:
        _check_driver(snapshots.taken_on_schedule(arguments.volume), name, arguments.keep)
    snapshots.take(name, arguments.volume, arguments.snapshot_class, reason)
    while not snapshots.is_ready(name):
        time.sleep(_SECONDS_BETWEEN_CHECKS)
    snapshots.finish(name, arguments.volume)
    print(f"{name}: ready", flush=True)
    expire = timedelta(seconds=arguments.expire) if arguments.expire else None
    taken = snapshots.taken_on_schedule(arguments.volume)
    for old in expired(taken, datetime.now(UTC), keep=arguments.keep, expire=expire):
        if snapshots.is_one_of(old, arguments.hold):
            print(f"{old.name}: expired, but kept: a volume in the settings starts from it", flush=True)
            continue
        snapshots.delete(old)
        print(f"{old.name}: deleted", flush=True)


def _check_driver(taken: Sequence[Snapshot], name: str, keep: int) -> None:
    if any(one.name == name for one in taken):  # a retry waits for the snapshot of the first try
        return
    if waiting := never_ready(taken, keep=keep):
        raise SystemExit(
            f"{name}: not taken, the newest {len(waiting)} are not ready, {waiting[-1].name} to {waiting[0].name}; "
            "see why with `kubectl describe volumesnapshot`, then repair the driver or delete them"
        )


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    """The arguments that the CronJob gives."""
    parser = argparse.ArgumentParser(prog="agents.snapshots", description=__doc__)
    parser.add_argument("volume")
    parser.add_argument("snapshot_class")
    parser.add_argument(
        "--group", action="store_true", help="VOLUME names a group of volumes, whose snapshots are taken at one instant"
    )
    parser.add_argument("--keep", type=int, default=sys.maxsize)
    parser.add_argument("--expire", type=int)
    parser.add_argument("--hold", action="append", default=[], help="a VolumeSnapshot to keep, however old it is")
    return parser.parse_args(words)


if __name__ == "__main__":
    arguments = parse_arguments()
    kind = VolumeGroupSnapshots if arguments.group else VolumeSnapshots
    run(kind(os.environ["NAMESPACE"]), arguments, os.environ["JOB_NAME"])
