"""The metadata of volumes and snapshots: a small file next to the content of each."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Source:
    """The content source of a volume."""

    kind: Literal["volume", "snapshot", "mirror"]
    id: str
    """Id of the volume or the snapshot; for a mirror the claim, as in `Volume.claim`."""


@dataclass(frozen=True)
class Volume:
    """A folder with a size limit."""

    id: str
    name: str
    size: int
    """Its limit in bytes."""
    created: int
    """Nanoseconds since 1970."""
    source: Source | None = None
    mirror_seconds: int = 0
    """The maximum age of its mirror; 0 without a mirror."""
    claim: str = ""
    """`namespace/name` of its claim, if the driver received it; a claim belongs to at most one volume."""


@dataclass(frozen=True)
class Snapshot:
    """A volume's content at a point in time."""

    id: str
    name: str
    size: int
    """The volume's size at that time; a volume restored from the snapshot is never smaller."""
    created: int
    volume: str
    """The id of its volume."""
    claim: str = ""
    """For a mirror: the claim of the volume at that time."""
    used: int | None = None
    """For a mirror: the bytes that the volume used at that time; None if they are not counted."""


def write(path: Path, record: Volume | Snapshot) -> None:
    """Writes a record; it is on disk when this returns."""
    put(path, record, os.fsync)
    keep(path.parent)


def put(path: Path, record: Volume | Snapshot, settle: Callable[[int], None]) -> None:
    """Replaces a record atomically. `settle` is called with the new file before it gets its name."""
    draft = path.with_name(f".new-{path.name}")
    with draft.open("w") as file:
        json.dump(asdict(record), file)
        file.flush()
        settle(file.fileno())
    draft.replace(path)


def keep(folder: Path) -> None:
    """Syncs a folder: creations, renames and deletions in it survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def volume(path: Path) -> Volume | None:
    """The volume's record; None if it does not exist."""
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return Volume(**{**found, "source": Source(**found["source"]) if found["source"] else None})


def snapshot(path: Path) -> Snapshot | None:
    """The snapshot's record; None if it does not exist."""
    try:
        return Snapshot(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None


_PLAIN = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_MOST_READABLE = 40


def identifier(name: str) -> str:
    """The name itself if it is a valid file name, else its valid characters with a hash of the name.

    Callers choose the name, so that a repeated call finds the result of the first.
    """
    if is_identifier(name):
        return name
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower())[:_MOST_READABLE].strip("-")
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{readable}-{digest}" if readable else digest


def is_identifier(text: str) -> bool:
    """Whether a text is a valid id: not a path, and not hidden."""
    return _PLAIN.fullmatch(text) is not None
