"""What the pool knows of a volume or a snapshot beside its content: one small file each, next to it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Source:
    """What a volume's content was at first."""

    kind: Literal["volume", "snapshot", "mirror"]
    id: str
    """Of the volume or the snapshot; of a mirror the claim whose copy it was, as `Volume.claim` has it."""


@dataclass(frozen=True)
class Volume:
    """A folder with a limit."""

    id: str
    name: str
    size: int
    """Bytes that it may take."""
    created: int
    """Nanoseconds since 1970."""
    source: Source | None = None
    mirror_seconds: int = 0
    """How old its copy in the second pool may be; 0 where it has none there."""
    claim: str = ""
    """`namespace/name` of the claim that it is of, as far as the driver was told; each claim is of one volume."""


@dataclass(frozen=True)
class Snapshot:
    """A volume's content at one moment."""

    id: str
    name: str
    size: int
    """Bytes that the volume might take then; a volume made of the snapshot is never smaller."""
    created: int
    volume: str
    """The id of the volume that it was taken of."""
    claim: str = ""
    """Of a copy: the claim of that volume then."""
    used: int | None = None
    """Of a copy: bytes that the volume took then; None where nobody counts them."""


def write(path: Path, record: Volume | Snapshot) -> None:
    """Puts it there, on disk when this returns."""
    put(path, record, os.fsync)
    keep(path.parent)


def put(path: Path, record: Volume | Snapshot, settle: Callable[[int], None]) -> None:
    """Puts it there; who reads meanwhile finds the old one or the new one. `settle` gets the file, its name not yet."""
    draft = path.with_name(f".new-{path.name}")
    with draft.open("w") as file:
        json.dump(asdict(record), file)
        file.flush()
        settle(file.fileno())
    draft.replace(path)


def keep(folder: Path) -> None:
    """Makes what was created, renamed and deleted in a folder last through a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def volume(path: Path) -> Volume | None:
    """The volume's record; None where there is none."""
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return Volume(**{**found, "source": Source(**found["source"]) if found["source"] else None})


def snapshot(path: Path) -> Snapshot | None:
    """The snapshot's record; None where there is none."""
    try:
        return Snapshot(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None
