"""One run of a mirror: `python3 -m agents.ceph_mirror NAMESPACE CLAIM --user=NAME --peer=SITE --keep=N`."""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
import tempfile
import time
from pathlib import Path, PurePosixPath
from typing import Any

from ..api import ApiServer
from .ceph import Ceph, MirrorError, Subvolume, find_subvolume, write_configuration

_ROOK = Path("/etc/rook")
_OWN_SNAPSHOT_NAME = re.compile(r"mirror-\d{8}-\d{4}")
_SECONDS_OF_A_MINUTE = 60


def snapshot_name(job: str, now: float) -> str:
    """The snapshot's name, which holds its minute.

    The name of a CronJob's Job ends with the minute that it was due, so a retry takes the same snapshot.
    """
    due = re.fullmatch(r".*-(\d{8})", job)
    moment = int(due[1]) * _SECONDS_OF_A_MINUTE if due else now
    return time.strftime("mirror-%Y%m%d-%H%M", time.gmtime(moment))


def snapshot_directory(info: Any) -> str:
    """The directory that holds the subvolume's snapshots.

    It is the parent of what pods mount; for subvolumes from before Ceph 15, which retain no snapshots, it is the same.
    """
    path = PurePosixPath(info["path"])
    return str(path.parent if "snapshot-retention" in info["features"] else path)


def run(ceph: Ceph, volume: Subvolume, *, peer: str, snapshot: str, keep: int) -> str:
    """Registers the directory for mirroring, takes a snapshot for the mirror to send, deletes the oldest beyond `keep`.

    Returns the directory. Every step can be repeated, so the next run completes one that was interrupted.
    """
    system = volume.file_system
    peers = sorted(one["site_name"] for one in ceph.query("fs", "snapshot", "mirror", "peer_list", system).values())
    if peer not in peers:
        have = ", ".join(peers) or "none"
        raise MirrorError(f"file system {system} has no peer {peer!r}; it has: {have}")
    path = snapshot_directory(ceph.query("fs", "subvolume", "info", system, volume.name, *volume.words))
    ceph.run("fs", "snapshot", "mirror", "add", system, path, fine=errno.EEXIST)
    ours = list_snapshots(ceph, volume)
    if snapshot not in ours:
        ceph.run("fs", "subvolume", "snapshot", "create", system, volume.name, snapshot, *volume.words)
    for old in sorted({*ours, snapshot})[:-keep]:
        ceph.run("fs", "subvolume", "snapshot", "rm", system, volume.name, old, *volume.words, "--force")
    return path


def list_snapshots(ceph: Ceph, volume: Subvolume) -> set[str]:
    """The snapshots that earlier runs took, without those of the driver or of people."""
    found = ceph.query("fs", "subvolume", "snapshot", "ls", volume.file_system, volume.name, *volume.words)
    return {one["name"] for one in found if _OWN_SNAPSHOT_NAME.fullmatch(one["name"])}


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    """The arguments that the CronJob gives."""
    parser = argparse.ArgumentParser(prog="agents.ceph_mirror", description=__doc__)
    parser.add_argument("namespace")
    parser.add_argument("claim")
    parser.add_argument("--user", required=True)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--keep", type=int, required=True)
    return parser.parse_args(words)


def main(arguments: argparse.Namespace, api: ApiServer, rook: Path = _ROOK) -> int:
    """Returns the exit code of a run."""
    try:
        volume = find_subvolume(api, arguments.namespace, arguments.claim)
        if volume is None:
            print(f"{arguments.claim}: not bound yet, a pod must mount it first", flush=True)
            return 0
        with tempfile.TemporaryDirectory() as folder:
            ceph = write_configuration(Path(folder), rook, arguments.user)
            snapshot = snapshot_name(os.environ.get("JOB_NAME", ""), time.time())
            path = run(ceph, volume, peer=arguments.peer, snapshot=snapshot, keep=arguments.keep)
    except MirrorError as why:
        print(f"{arguments.claim}: {why}", file=sys.stderr, flush=True)
        return 1
    print(f"{arguments.claim}: {path} has {snapshot}, for {arguments.peer}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(parse_arguments(), ApiServer()))
