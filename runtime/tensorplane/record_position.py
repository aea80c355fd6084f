"""Where a recorder continues: at the offsets in its newest commit.

A commit has the records of its window and the offsets after them at once, so no kill comes between the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tensorplane.datasets import Commit, Dataset, Refused, tree
from tensorplane.datasets.errors import Gone
from tensorplane.datasets.tree import File

KEY = "stream"
"""Key of a commit's provenance."""
_TOPIC_ID = "topicId"
REMEDY = "set another `dataset` or `branch`, where the recorder begins with the first record that Kafka has"


class Moved(Refused):
    """Another recorder of the same topic has committed since."""


@dataclass(frozen=True)
class Source:
    """What is recorded. Each branch has the records of one."""

    stream: str
    topic: str
    group: str

    @property
    def plain(self) -> dict[str, str]:
        """As a commit's provenance has it."""
        return {"name": self.stream, "topic": self.topic, "group": self.group}


@dataclass(frozen=True)
class Position:
    """The newest commit of a source's records."""

    commit: str | None
    """None before the first."""
    next: Mapping[int, int]
    """The first offset of each partition that is in no commit."""
    topic_id: str | None = None
    """Of the topic that has these offsets; None in commits of earlier versions, and where brokers give none."""


def of(dataset: Dataset, branch: str, source: Source) -> Position:
    """The position in a branch's history. Raises Refused if the branch has what another source's recorder wrote."""
    return _of(dataset, branch, dataset.branches().get(branch), source, Position(None, {}))


def check_unchanged(dataset: Dataset, branch: str, source: Source, position: Position, before: Commit | None) -> None:
    """Raises Moved if the history up to `before` has a commit of the source that is newer than the position, Refused if
    it has one of another source.
    """
    now = _of(dataset, branch, before, source, position)
    if now.commit != position.commit:
        raise Moved(f"{branch}: another recorder of {source.topic} has committed since")


def check_unwritten(dataset: Dataset, branch: str, files: Mapping[str, File], before: Commit | None) -> None:
    """Raises Refused if the commit has other files at these paths, which the recorder cannot have written: a path is
    of one window alone.
    """
    if before is None:
        return
    there = {path: tree.find(dataset.store, before.version, path) for path in sorted(files)}
    taken = [path for path, found in there.items() if isinstance(found, File) and found != files[path]]
    if taken:
        more = f" and {len(taken) - 1} more" if taken[1:] else ""
        problem = f"has {taken[0]}{more}, which this recorder did not write, but would replace"
        raise Refused(f"{_named(dataset, branch)}: {problem}; remove such files from the dataset, or {REMEDY}")


def provenance(
    source: Source,
    topic_id: str | None,
    begin: Mapping[int, int],
    end: Mapping[int, int],
    records: int,
    skipped: Mapping[int, int],
) -> dict[str, Any]:
    """What a commit says about its window: the first record of each partition in it, and the first one after it.

    `skipped`: how many records before it retention had deleted, by partition.
    """
    lost = {"skipped": _text(skipped)} if skipped else {}
    of_topic = {**source.plain, **({_TOPIC_ID: topic_id} if topic_id else {})}
    return {KEY: {**of_topic, "from": _text(begin), "to": _text(end), "records": records, **lost}}


def _of(dataset: Dataset, branch: str, newest: Commit | None, source: Source, known: Position) -> Position:
    """The position in the history up to a commit; `known` where the history has it, or none of the source."""
    for made in dataset.log(newest.id) if newest else ():
        if made.id == known.commit:
            return known
        about = _window(made)
        if about and source.plain.items() <= about.items():
            offsets = {int(partition): offset for partition, offset in about["to"].items()}
            return Position(made.id, offsets, about.get(_TOPIC_ID))
        if about and newest and _are_in(dataset, made, newest):
            problem = f"has records of {about['name']}/{about['topic']}, recorded by group {about['group']}"
            raise Refused(f"{_named(dataset, branch)}: {problem}; set that source again, or {REMEDY}")
    return Position(None, {})


def _window(made: Commit) -> Mapping[str, Any] | None:
    """What a commit says about its window; None if no recorder made it, whatever else a program has written there."""
    about = made.provenance.get(KEY)
    return about if isinstance(about, Mapping) and {"name", "topic", "group", "to"} <= about.keys() else None


def _are_in(dataset: Dataset, window: Commit, newest: Commit) -> bool:
    """Whether files of a window are in the newest version; also if retention has deleted what would tell."""
    before = next(dataset.log(window.parents[0])).version if window.parents else None
    try:
        wrote = [(path, new) for path, _, new in tree.diff(dataset.store, before, window.version) if new]
    except Gone:
        return True
    return any(tree.find(dataset.store, newest.version, path) == file for path, file in wrote)


def _named(dataset: Dataset, branch: str) -> str:
    return f"dataset {dataset.store.root.name}, branch {branch}"


def _text(offsets: Mapping[int, int]) -> dict[str, int]:
    return {str(partition): offset for partition, offset in sorted(offsets.items())}
