"""The pool's volumes and snapshots. Each call is idempotent; after a kill, repeating it completes it.

`volumes/ID` and `snapshots/ID` have the content, and `ID.json` next to each is its record. The record is written before
the content is created and deleted after the content, so a record alone means nothing, and content without a record does
not belong to the driver and is left as it is.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from tensorplane.embedded.csi import capacity, mounts, records, refusal, storage
from tensorplane.embedded.csi.path_locks import PathLocks
from tensorplane.embedded.csi.records import Snapshot, Source, Volume, identifier, is_identifier
from tensorplane.embedded.csi.sizes import SizeRange

_Record = TypeVar("_Record", Volume, Snapshot)


class Origin(NamedTuple):
    """The content source of a volume."""

    path: Path
    size: int
    """The smallest size of a volume with this source."""


class VolumeRecord(NamedTuple):
    """What the pool records of a volume in addition to its content and size."""

    mirror_seconds: int | None = None
    claim: str = ""


NOTHING = VolumeRecord()


class Store:
    """One pool. A second instance on the same folder waits until the first has ended."""

    def __init__(self, pool: Path) -> None:
        self.pool = pool
        self.volumes, self.snapshots = pool / "volumes", pool / "snapshots"
        for folder in (self.volumes, self.snapshots):
            folder.mkdir(mode=0o700, exist_ok=True)
        self.lock = os.open(pool / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.storage = storage.of(pool, self.lock)
        self._turns = PathLocks()
        for folder in (self.volumes, self.snapshots):
            storage.clean(folder, self.storage)
            for record in folder.glob("*.json"):
                if not record.with_suffix("").exists():
                    record.unlink()
        # Limits reach the disk some time after they were set: a power failure may come first.
        for volume in self.all_volumes():
            self.storage.limit(self.path(volume), volume.size)

    def close(self) -> None:
        """Releases the pool for the next instance."""
        os.close(self.lock)

    @property
    def is_there(self) -> bool:
        """Whether the folder is still the same: a pool may be unmounted while the driver runs."""
        with suppress(OSError):
            return os.fstat(self.lock).st_dev == self.pool.stat().st_dev
        return False

    @property
    def total(self) -> int:
        """Bytes of the pool; no volume is larger."""
        found = os.statvfs(self.pool)
        return found.f_blocks * found.f_frsize

    @property
    def free(self) -> int:
        """Free bytes of the pool."""
        found = os.statvfs(self.pool)
        return found.f_bavail * found.f_frsize

    def volume(self, id_: str) -> Volume:
        """A volume's record; a Refusal if it does not exist."""
        return self._found("volume", _get(self.volumes, id_, records.volume), id_)

    def snapshot(self, id_: str) -> Snapshot:
        """A snapshot's record; a Refusal if it does not exist."""
        return self._found("snapshot", _get(self.snapshots, id_, records.snapshot), id_)

    def all_volumes(self) -> list[Volume]:
        """Every volume, the oldest first."""
        return _all(self.volumes, records.volume)

    def all_snapshots(self) -> list[Snapshot]:
        """Every snapshot, the oldest first."""
        return _all(self.snapshots, records.snapshot)

    def path(self, volume: Volume) -> Path:
        """The folder with the volume's content."""
        return self.volumes / volume.id

    def create_volume(
        self,
        name: str,
        wanted: SizeRange,
        source: Source | None,
        record: VolumeRecord = NOTHING,
        bring: Callable[[], Origin] | None = None,
    ) -> Volume:
        """Creates a volume, empty or with the content of a snapshot or of another volume.

        `bring` returns a content source from outside this pool, and is only called if the volume does not exist.
        """
        id_ = identifier(name)
        path = self.volumes / id_
        here = self._folder(source) if source and not bring else None
        with self._turns.hold(path, here):
            volume = _get(self.volumes, id_, records.volume)
            if volume:
                _check_same(volume, name, wanted, source)
            else:
                capacity.check(self.pool)
                origin = bring() if bring else self._origin(source)
                size = wanted.choose(origin.size if origin else None, self.total)
                volume = Volume(id_, name, size, time.time_ns(), source, record.mirror_seconds or 0, record.claim)
                self._leave_claim(volume)
                self._make(path, volume, origin.path if origin else None, read_only=False)
            self.storage.limit(path, volume.size)
        return volume

    def _origin(self, source: Source | None) -> Origin | None:
        if not source:
            return None
        found = (self.volume if source.kind == "volume" else self.snapshot)(source.id)
        return Origin(self._folder(source), found.size)

    def modify_volume(self, id_: str, record: VolumeRecord) -> Volume:
        """Changes what the pool records of a volume; unset fields stay."""
        path = self.volumes / id_
        with self._turns.hold(path):
            before = self.volume(id_)
            seconds = before.mirror_seconds if record.mirror_seconds is None else record.mirror_seconds
            volume = replace(before, mirror_seconds=seconds, claim=record.claim or before.claim)
            if volume != before:
                self._leave_claim(volume)
                records.write(_record(path), volume)
        return volume

    def _leave_claim(self, volume: Volume) -> None:
        """Removes the claim from an earlier volume of it, which stays, but is no longer mirrored."""
        if not volume.claim:
            return
        for other in self.all_volumes():
            if other.claim == volume.claim and other.id != volume.id:
                with self._turns.hold(self.volumes / other.id):
                    records.write(
                        _record(self.volumes / other.id), replace(self.volume(other.id), claim="", mirror_seconds=0)
                    )

    def expand_volume(self, id_: str, wanted: SizeRange) -> Volume:
        """Expands a volume; it never shrinks."""
        path = self.volumes / id_
        with self._turns.hold(path):
            volume = self.volume(id_)
            if not wanted.holds(volume.size):
                capacity.check(self.pool)
                volume = replace(volume, size=wanted.choose(volume.size, self.total))
                records.write(_record(path), volume)
            self.storage.limit(path, volume.size)
        return volume

    def let_grow(self, id_: str, *, grows: bool) -> None:
        """Limits a volume to its size, or to what it uses now."""
        path = self.volumes / id_
        with self._turns.hold(path):
            volume = self.volume(id_)
            used = None if grows else self.storage.usage(path)
            self.storage.limit(path, volume.size if used is None else min(used, volume.size))

    def delete_volume(self, id_: str) -> None:
        """Deletes a volume that no pod uses. Its snapshots and clones do not depend on it, and stay."""
        self._delete(self.volumes, id_, records.volume)

    def create_snapshot(self, name: str, volume: str) -> Snapshot:
        """Takes a snapshot of a volume's current content."""
        id_ = identifier(name)
        path = self.snapshots / id_
        origin = self._folder(Source("volume", volume))
        with self._turns.hold(path, origin):
            snapshot = _get(self.snapshots, id_, records.snapshot)
            if snapshot:
                if (snapshot.name, snapshot.volume) != (name, volume):
                    raise refusal.taken(f"{name}: a snapshot of volume {snapshot.volume} already has this name")
                return snapshot
            capacity.check(self.pool)
            snapshot = Snapshot(id_, name, self.volume(volume).size, time.time_ns(), volume)
            self._make(path, snapshot, origin, read_only=True)
        return snapshot

    def delete_snapshot(self, id_: str) -> None:
        """Deletes a snapshot. Volumes restored from it stay."""
        self._delete(self.snapshots, id_, records.snapshot)

    def _folder(self, source: Source) -> Path:
        if not is_identifier(source.id):
            raise refusal.missing(f"{source.kind} {source.id}: does not exist")
        return (self.volumes if source.kind == "volume" else self.snapshots) / source.id

    def _make(self, path: Path, record: Volume | Snapshot, origin: Path | None, *, read_only: bool) -> None:
        if path.exists():
            raise refusal.taken(f"{path}: already exists, but not as a volume or snapshot of this driver")
        self.storage.announce(_record(path), record)
        if origin:
            self.storage.copy(origin, path, read_only=read_only)
        else:
            self.storage.create(path)

    def _delete(self, folder: Path, id_: str, read: Callable[[Path], _Record | None]) -> None:
        if not is_identifier(id_):
            return
        path = folder / id_
        with self._turns.hold(path):
            if _get(folder, id_, read):
                if used := mounts.showing(path):
                    raise refusal.in_use(f"{id_}: still mounted at {used[0]}")
                self.storage.delete(path)
            if not path.exists():
                _record(path).unlink(missing_ok=True)

    @staticmethod
    def _found(kind: str, record: _Record | None, id_: str) -> _Record:
        if record is None:
            raise refusal.missing(f"{kind} {id_}: does not exist")
        return record


def _check_same(volume: Volume, name: str, wanted: SizeRange, source: Source | None) -> None:
    if volume.name != name or volume.source != source:
        raise refusal.taken(f"{name}: a volume with other content already has this name")
    if not wanted.holds(volume.size):
        raise refusal.taken(f"{name}: a volume with {volume.size} bytes already has this name")


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _get(folder: Path, id_: str, read: Callable[[Path], _Record | None]) -> _Record | None:
    path = folder / id_
    return read(_record(path)) if is_identifier(id_) and path.exists() else None


def _all(folder: Path, read: Callable[[Path], _Record | None]) -> list[_Record]:
    found = (_get(folder, record.stem, read) for record in folder.glob("*.json"))
    return sorted((one for one in found if one), key=lambda one: (one.created, one.id))
