"""Where a recorder goes on: the offsets in the newest of its commits. A commit has its window's records and the offsets
after them at once, so no kill comes between the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tensorplane.datasets import Commit, Dataset, Refused

KEY = "stream"
"""Key of a commit's provenance."""


class Moved(Refused):
    """Another recorder of the same topic has committed since."""


@dataclass(frozen=True)
class Source:
    """What is recorded. Another group begins anew."""

    stream: str
    topic: str
    group: str

    @property
    def plain(self) -> dict[str, str]:
        """As a commit's provenance has it."""
        return {"name": self.stream, "topic": self.topic, "group": self.group}


@dataclass(frozen=True)
class Place:
    """The newest commit of a source's records."""

    commit: str | None
    """None before the first."""
    next: Mapping[int, int]
    """The first offset of each partition that is in no commit."""


def of(dataset: Dataset, branch: str, source: Source) -> Place:
    """The place in a branch's history."""
    return _of(dataset, dataset.branches().get(branch), source, Place(None, {}))


def unchanged(dataset: Dataset, branch: str, source: Source, place: Place, before: Commit | None) -> None:
    """Raises Moved if the history up to `before` has a commit of the source that is newer than the place."""
    now = _of(dataset, before, source, place)
    if now.commit != place.commit:
        raise Moved(f"{branch}: another recorder of {source.topic} has committed since")


def provenance(
    source: Source, begin: Mapping[int, int], end: Mapping[int, int], records: int, skipped: Mapping[int, int]
) -> dict[str, Any]:
    """What a commit says about its window: the first record of each partition in it, and the first one after it.

    `skipped`: how many records before it retention had deleted, by partition.
    """
    lost = {"skipped": _text(skipped)} if skipped else {}
    return {KEY: {**source.plain, "from": _text(begin), "to": _text(end), "records": records, **lost}}


def _of(dataset: Dataset, newest: Commit | None, source: Source, known: Place) -> Place:
    """The place in the history up to a commit; `known` where the history has it, or none of the source."""
    for made in dataset.log(newest.id) if newest else ():
        if made.id == known.commit:
            return known
        about = made.provenance.get(KEY) or {}
        if source.plain.items() <= about.items():
            return Place(made.id, {int(partition): offset for partition, offset in about["to"].items()})
    return Place(None, {})


def _text(offsets: Mapping[int, int]) -> dict[str, int]:
    return {str(partition): offset for partition, offset in sorted(offsets.items())}
