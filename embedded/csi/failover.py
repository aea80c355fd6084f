"""Restores the newest mirror of a claim's volume as a new volume, even if the mirrored volume is lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tensorplane.embedded.csi import capacity, refusal
from tensorplane.embedded.csi.records import Snapshot, Source, Volume, identifier
from tensorplane.embedded.csi.sizes import SizeRange
from tensorplane.embedded.csi.store import Origin, Store, VolumeRecord
from tensorplane.embedded.csi.transfer import transfer

_BROUGHT = ".brought-"


class Failover:
    """Restores volumes from the second pool."""

    def __init__(self, store: Store, mirror: Store) -> None:
        self._store, self._mirror = store, mirror
        for pool in (store, mirror):
            for left in pool.snapshots.glob(f"{_BROUGHT}*"):  # left by a killed driver
                pool.storage.delete(left)

    def newest(self, claim: str) -> Snapshot:
        """The newest mirror of a claim's volume; a Refusal if it has none."""
        found = [one for one in self._mirror.all_snapshots() if one.claim == claim]
        if not found:
            raise refusal.missing(f"claim {claim}: the second pool has no copy of it")
        return found[-1]

    def create_volume(self, name: str, wanted: SizeRange, claim: str, record: VolumeRecord) -> Volume:
        """A volume with that mirror's content. Volumes of the claim in the first pool are left as they are."""
        brought: list[tuple[Store, Path]] = []
        try:
            return self._store.create_volume(
                name, wanted, Source("mirror", claim), record, self._bringing(name, claim, brought)
            )
        finally:
            for pool, folder in brought:
                with suppress(FileNotFoundError):
                    pool.storage.delete(folder)

    def _bringing(self, name: str, claim: str, brought: list[tuple[Store, Path]]) -> Callable[[], Origin]:
        def bring() -> Origin:
            copy = self.newest(claim)
            capacity.check(self._store.pool, copy.used or 0)
            # A clone of its own, since a newer mirror may replace the original meanwhile.
            held, arrived = (one.snapshots / f"{_BROUGHT}{identifier(name)}" for one in (self._mirror, self._store))
            brought.extend([(self._mirror, held), (self._store, arrived)])
            self._mirror.storage.copy(self._mirror.snapshots / copy.id, held, read_only=True)
            return Origin(transfer(self._mirror, self._store, held, self._store.snapshots), copy.size)

        return bring
