"""The state of a rollout's controller in a ConfigMap, and the record of all its decisions on the volume."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..state import Decision, append_decision, next_number


@dataclass(frozen=True)
class RolloutDecision(Decision):
    """A decision about a version, as its Event and the record on the volume tell it."""

    version: int
    reason: str
    measured: Mapping[str, float] = field(default_factory=dict)
    """What the gates measured, by metric."""


@dataclass(frozen=True)
class RolloutState:
    """The state of one rollout."""

    stable: int | None = None
    """The version of the stable pods; None until the first one is served."""
    canary: int | None = None
    """The version that the canary pods try."""
    promoting: bool = False
    """Whether the canary has passed its gates, and the stable pods move to its version."""
    canary_started_at: float = 0.0
    """Seconds since 1970."""
    refused: Mapping[int, str] = field(default_factory=dict)
    """Versions that are not tried again, and why."""
    reported: Mapping[int, str] = field(default_factory=dict)
    """Versions whose folders cannot be served, with the problem that was reported."""
    settings: str = ""
    """Digest of the settings under which versions were refused."""
    decisions: Sequence[RolloutDecision] = ()
    """The last decisions."""

    def with_decision(
        self,
        now: float,
        action: str,
        version: int,
        reason: str,
        measured: Mapping[str, float] | None = None,
        **changes: Any,
    ) -> RolloutState:
        """The state after a decision. `changes`: other fields that it changes."""
        number = next_number(self.decisions)
        made = RolloutDecision(number, round(now, 3), action, version, reason, measured or {})
        return replace(self, decisions=append_decision(self.decisions, made), **changes)

    def to_json(self) -> str:
        """The text in the ConfigMap. Its keys stay as earlier versions wrote them."""
        plain = {
            "stable": self.stable,
            "candidate": self.canary,
            "promoting": self.promoting,
            "since": self.canary_started_at,
            "refused": {str(version): why for version, why in self.refused.items()},
            "reported": {str(version): why for version, why in self.reported.items()},
            "settings": self.settings,
            "decisions": [asdict(each) for each in self.decisions],
        }
        return json.dumps(plain, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> RolloutState:
        """From the text in the ConfigMap, which is empty before the first rollout."""
        if not text:
            return cls()
        plain = json.loads(text)
        return cls(
            stable=plain["stable"],
            canary=plain["candidate"],
            promoting=plain["promoting"],
            canary_started_at=plain["since"],
            settings=plain["settings"],
            refused={int(version): why for version, why in plain["refused"].items()},
            reported={int(version): why for version, why in plain["reported"].items()},
            decisions=tuple(RolloutDecision(**each) for each in plain["decisions"]),
        )


def record_path(folder: Path, server: str) -> Path:
    """The record of one server's rollouts of the model in this folder."""
    return folder / ".rollouts" / f"{server}.jsonl"


def append_to_record(file: Path, decisions: Sequence[RolloutDecision]) -> None:
    """Appends the decisions that the record does not have, whole lines at a time. Raises OSError."""
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


def _line(decision: RolloutDecision) -> str:
    return json.dumps(asdict(decision), sort_keys=True)


def _number(line: str) -> int | None:
    try:
        found: int = json.loads(line)["number"]
    except (ValueError, KeyError, TypeError):
        return None
    return found
