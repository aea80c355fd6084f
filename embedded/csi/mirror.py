"""Copies volumes into a second pool, where each copy is a snapshot that a driver there restores like its own.

Between two btrfs pools only what changed since the last copy is sent. A copy is made of a snapshot, so it is of one
moment, and appears in the second pool as a whole or not at all.
"""

from __future__ import annotations

import subprocess
import threading
import time
import traceback
from pathlib import Path

from embedded.csi import records, storage
from embedded.csi.names import identifier
from embedded.csi.records import Snapshot, Volume
from embedded.csi.store import Store

_HELD = ".mirror-"
_LOOK_SECONDS = 1.0


class Mirror:
    """The way from one pool to another."""

    def __init__(self, store: Store, target: Store, keep: int = 2) -> None:
        self._store, self._target, self._keep = store, target, keep
        self._one_at_a_time = threading.Lock()

    def last(self, volume: str) -> Snapshot | None:
        """The newest copy of a volume; its time is how old what the second pool knows is."""
        return next(iter(self._copies(volume)), None)

    def copy(self, volume: Volume) -> Snapshot:
        """Copies a volume as it is now, and deletes the oldest copies."""
        with self._one_at_a_time:
            self._clean()
            created = time.time_ns()
            name = f"{volume.id}-{created}"
            made = Snapshot(identifier(name), name, volume.size, created, volume.id)
            held, arrived = (one.snapshots / f"{_HELD}{made.id}" for one in (self._store, self._target))
            self._store.storage.copy(self._store.path(volume), held, read_only=True)
            self._transfer(held, arrived, self.last(volume.id))
            path = arrived.with_name(made.id)
            records.write(path.with_name(f"{made.id}.json"), made)
            arrived.rename(path)
            records.keep(path.parent)
            for old in self._copies(volume.id)[self._keep :]:
                self._target.delete_snapshot(old.id)
            self._clean()
            return made

    def _transfer(self, held: Path, arrived: Path, last: Snapshot | None) -> None:
        locks = [self._store.lock, self._target.lock]
        if not all(isinstance(one.storage, storage.Btrfs) for one in (self._store, self._target)):
            copy: list[str | Path] = [
                "cp",
                "--archive",
                "--reflink=auto",
                "--sparse=auto",
                "--no-target-directory",
                "--",
                held,
                arrived,
            ]
            subprocess.run(copy, check=True, capture_output=True, pass_fds=locks)
            subprocess.run(["sync", "--file-system", "--", arrived], check=True, pass_fds=locks)
            return
        base = held.with_name(f"{_HELD}{last.id}") if last else None
        since: list[str | Path] = ["-p", base] if base and base.exists() else []
        # What goes on after the driver was killed keeps the next one waiting at both locks.
        with subprocess.Popen(
            ["btrfs", "send", "--quiet", *since, "--", held], stdout=subprocess.PIPE, pass_fds=locks
        ) as sending:
            receiving: list[str | Path] = ["btrfs", "receive", "--quiet", "--", arrived.parent]
            subprocess.run(receiving, stdin=sending.stdout, check=True, capture_output=True, pass_fds=locks)
        if sending.returncode:
            raise subprocess.CalledProcessError(sending.returncode, "btrfs send")

    def _copies(self, volume: str) -> list[Snapshot]:
        """The newest first."""
        return [one for one in reversed(self._target.all_snapshots()) if one.volume == volume]

    def _clean(self) -> None:
        """Deletes what a killed copy left, and what no later copy will be compared with."""
        volumes = {one.volume for one in self._target.all_snapshots()}
        needed = {f"{_HELD}{last.id}" for volume in volumes if (last := self.last(volume))}
        for store, kept in ((self._store, needed), (self._target, set())):
            for left in store.snapshots.glob(f"{_HELD}*"):
                if left.name not in kept:
                    store.storage.delete(left)


class Schedule:
    """Copies each volume that asks for it, as often as it asks."""

    def __init__(self, store: Store, mirror: Mirror) -> None:
        self._store, self._mirror = store, mirror
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finishes the copy that is being made."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            for volume in self._store.all_volumes():
                if self._ended.is_set() or not is_due(volume, self._mirror.last(volume.id), time.time_ns()):
                    continue
                try:
                    self._mirror.copy(volume)
                except Exception:  # it is tried again; meanwhile the newest copy's age tells
                    traceback.print_exc()


def is_due(volume: Volume, last: Snapshot | None, now: int) -> bool:
    """Whether a volume's copy is older than it may be."""
    if not volume.mirror_seconds:
        return False
    return last is None or now - last.created >= volume.mirror_seconds * 1_000_000_000
