"""What a rollout remembers between two looks, in a ConfigMap: which version is stable, which one is tried, and the
decisions so far."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
