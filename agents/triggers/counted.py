"""What is new in a branch since the last run, by what triggers count: sums over its commits, then what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.triggers.commits import Head, Log
from agents.triggers.described import BYTES, FILES, VERSIONS, WINDOWS
from agents.triggers.files import Files, new

_BEGIN = Head(0, "")
_NONE = Files(0, 0)


@dataclass
class Counted:
    """The counts of one branch."""

    log: Log
    _from: Head = _BEGIN
    _until: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _compared: tuple[Head, str] = (_BEGIN, "")
    _files: Files = _NONE

    def since(self, last: Head | None, head: Head) -> Mapping[str, int]:
        """Sums over the commits after the last run's, up to the newest. A branch that was created anew is all new."""
        start = last if last and last.number <= head.number and self.log.entry(last.number) == last.commit else None
        start = start or _BEGIN
        if start != self._from or self._until > head.number:
            self._from, self._until, self._counts = start, start.number, Counter()
        for place, made in enumerate(self.log.since(self._until, head.number), self._until + 1):
            self._counts.update(first_counts_of(made) if place == 1 else counts_of(made))
        self._until = head.number
        return self._counts

    def compared(self) -> Mapping[str, int]:
        """The same, but of files how many the newest version has that the last run's lacks or has otherwise: one that
        came or changed several times is one, and one that is as it was is none.
        """
        place = self._from, self.log.entry(self._until)
        if self._compared != place:
            self._files, self._compared = self._new_files(place[1]), place
        return {**self._counts, FILES: self._files.number, BYTES: self._files.size}

    def _new_files(self, head: str) -> Files:
        newest = self.log.read(head)
        if self._from == _BEGIN:
            return Files(newest["files"], newest["size"])
        try:
            return new(self.log.root, self.log.read(self._from.commit)["version"], newest["version"])
        except FileNotFoundError:  # retention has deleted the last run's version
            return Files(self._counts[FILES], self._counts[BYTES])


def counts_of(commit: Mapping[str, Any]) -> dict[str, int]:
    """What one commit counts as."""
    changed = commit["changed"]
    return {
        VERSIONS: 1,
        FILES: changed["added"] + changed["changed"],
        BYTES: changed["bytes"],
        WINDOWS: int("stream" in commit["provenance"]),
    }


def first_counts_of(commit: Mapping[str, Any]) -> dict[str, int]:
    """The same of a branch's first commit, all of whose files are new to the branch, also where it was made of another
    one.
    """
    return {**counts_of(commit), FILES: commit["files"], BYTES: commit["size"]}
