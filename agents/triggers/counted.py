"""What is new in a branch since the last run, by what triggers count. Each commit is read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.triggers.commits import Head, Log
from agents.triggers.described import BYTES, FILES, VERSIONS, WINDOWS

_BEGIN = Head(0, "")


@dataclass
class Counted:
    """The counts of one branch."""

    log: Log
    _from: Head = _BEGIN
    _until: int = 0
    _counts: Counter[str] = field(default_factory=Counter)

    def since(self, last: Head | None, head: Head) -> Mapping[str, int]:
        """The counts after the last run's commit, up to the newest. A branch that was created anew is all new."""
        start = last if last and last.number <= head.number and self.log.entry(last.number) == last.commit else None
        start = start or _BEGIN
        if start != self._from or self._until > head.number:
            self._from, self._until, self._counts = start, start.number, Counter()
        for made in self.log.since(self._until, head.number):
            self._counts.update(counts_of(made))
        self._until = head.number
        return self._counts


def counts_of(commit: Mapping[str, Any]) -> dict[str, int]:
    """What one commit counts as."""
    changed = commit["changed"]
    return {
        VERSIONS: 1,
        FILES: changed["added"] + changed["changed"],
        BYTES: changed["bytes"],
        WINDOWS: int("stream" in commit["provenance"]),
    }
