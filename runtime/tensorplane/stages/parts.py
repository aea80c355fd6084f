"""The parts of a stage's inputs: what a pod works on at a time, each named by a digest of its names and contents."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tensorplane.datasets.tree import File

WHOLE = "all"
"""The name of the only part of an input that is not split."""
_LARGEST = 4
"""A batch is no larger than so many times the average."""


@dataclass(frozen=True)
class Part:
    """A part of one input."""

    name: str
    """For people: the path of the file or folder, or of a batch's first file."""
    digest: str
    paths: tuple[str, ...]
    """Files and folders of the version."""


@dataclass(frozen=True)
class Item:
    """What one pod works on: a part of each input."""

    parts: Mapping[str, Part]
    """By the input's name."""

    @property
    def name(self) -> str:
        """For people."""
        names = [part.name for part in self.parts.values() if part.name != WHOLE]
        return " + ".join(names) or WHOLE

    @property
    def digests(self) -> dict[str, str]:
        """The parts' digests by the input's name."""
        return {name: part.digest for name, part in sorted(self.parts.items())}


def digest_of(value: Any) -> str:
    """A digest of JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def whole(version: str) -> list[Part]:
    """A version as one part."""
    return [Part(WHOLE, version, ("",))]


def split(files: Mapping[str, File], *, by: str, batch: int | None) -> list[Part]:
    """The parts of a version with these files, by path."""
    return [
        Part(name, digest_of([[path, *files[path]] for path in inside]), tuple(inside))
        for name, inside in (_batches(files, batch) if batch else _groups(files, by))
    ]


def batches(files: Iterable[str], size: int) -> int:
    """How many batches of this size on average files make, by path."""
    return sum(1 for _ in _batches(files, size))


def _groups(files: Iterable[str], by: str) -> Iterator[tuple[str, list[str]]]:
    def top(path: str) -> str:
        return path.split("/", 1)[0]

    paths = sorted(files, key=(lambda path: (top(path), path)) if by == "directory" else None)
    for name, inside in itertools.groupby(paths, top if by == "directory" else str):
        yield name, list(inside)


def _batches(files: Iterable[str], size: int) -> Iterator[tuple[str, list[str]]]:
    """A batch ends where a path's own hash says so, so that a file more or less changes one batch, seldom two."""
    batch: list[str] = []
    for path in sorted(files):
        batch.append(path)
        ends = int.from_bytes(hashlib.sha256(path.encode()).digest()[:8], "big") % size == 0
        if ends or len(batch) >= size * _LARGEST:
            yield batch[0], batch
            batch = []
    if batch:
        yield batch[0], batch
