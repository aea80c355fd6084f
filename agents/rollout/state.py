"""The state of a rollout's controller in a ConfigMap, and the record of all its decisions on the volume."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

_MOST_DECISIONS = 20
"""Of those in the ConfigMap; the record on the volume has all of them."""


@dataclass(frozen=True)
class Decision:
    """One decision, as its Event and the record on the volume say it."""

    number: int
    """Counts the decisions of a server from 1."""
    at: float
    """Seconds since 1970."""
    action: str
    """Reason of the Event: `CanaryStarted`, `Promoted`, `RolledBack`, …"""
    version: int
    reason: str
    measured: Mapping[str, float] = field(default_factory=dict)
    """What the gates measured, by metric."""

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "number": self.number,
            "at": self.at,
            "action": self.action,
            "version": self.version,
            "reason": self.reason,
            "measured": dict(self.measured),
        }


@dataclass(frozen=True)
class Kept:
    """The state of one rollout."""

    stable: int | None = None
    """The version of the stable pods; None until the first one is served."""
    candidate: int | None = None
    """The version that the canary pods try."""
    promoting: bool = False
    """Whether the candidate has passed its gates, and the stable pods move to it."""
    since: float = 0.0
    """When the candidate became it."""
    refused: Mapping[int, str] = field(default_factory=dict)
    """Versions that are not tried again, and why."""
    reported: Mapping[int, str] = field(default_factory=dict)
    """Folders of versions that cannot be served as they are, and what is wrong with them."""
    settings: str = ""
    """Digest of the settings by which versions were refused."""
    decisions: Sequence[Decision] = ()
    """The last ones."""

    def decided(
        self,
        now: float,
        action: str,
        version: int,
        reason: str,
        measured: Mapping[str, float] | None = None,
        **changed: Any,
    ) -> Kept:
        """The state after a decision."""
        last = self.decisions[-1].number if self.decisions else 0
        made = Decision(last + 1, round(now, 3), action, version, reason, measured or {})
        return replace(self, decisions=(*self.decisions, made)[-_MOST_DECISIONS:], **changed)

    def text(self) -> str:
        """As JSON."""
        plain = {
            "stable": self.stable,
            "candidate": self.candidate,
            "promoting": self.promoting,
            "since": self.since,
            "refused": {str(version): why for version, why in self.refused.items()},
            "reported": {str(version): why for version, why in self.reported.items()},
            "settings": self.settings,
            "decisions": [each.plain() for each in self.decisions],
        }
        return json.dumps(plain, sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Kept:
        """From JSON; empty text is a rollout that has not begun."""
        if not text:
            return cls()
        plain = json.loads(text)
        return cls(
            **{key: plain[key] for key in ("stable", "candidate", "promoting", "since", "settings")},
            refused={int(version): why for version, why in plain["refused"].items()},
            reported={int(version): why for version, why in plain["reported"].items()},
            decisions=tuple(Decision(**each) for each in plain["decisions"]),
        )


def path_of(folder: Path, server: str) -> Path:
    """The record of one server's rollouts of the model in this folder."""
    return folder / ".rollouts" / f"{server}.jsonl"


def extend(file: Path, decisions: Sequence[Decision]) -> None:
    """Append the decisions that it lacks, whole lines at a time. Raises OSError."""
    lines = file.read_text().splitlines() if file.exists() else []
    known = {number for line in lines if (number := _number(line)) is not None}
    if missing := [each for each in decisions if each.number not in known]:
        file.parent.mkdir(exist_ok=True)
        with file.open("a") as record:
            # A line that was cut off by a kill ends here, and stays unread.
            cut_off = lines and _number(lines[-1]) is None
            record.write(("\n" if cut_off else "") + "".join(f"{_line(each)}\n" for each in missing))
            record.flush()
            os.fsync(record.fileno())


def _line(decision: Decision) -> str:
    return json.dumps(decision.plain(), sort_keys=True)


def _number(line: str) -> int | None:
    try:
        found: int = json.loads(line)["number"]
    except (ValueError, KeyError, TypeError):
        return None
    return found
