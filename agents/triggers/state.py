"""What the triggers of a pipeline remember between two looks, in a ConfigMap: the last run, and whether it was created.

A run is remembered before it is created, with what was counted. So a controller that is killed in between leaves
a run that the next one creates, and the count begins anew either way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from agents.triggers.commits import Head

_MOST_DECISIONS = 20


@dataclass(frozen=True)
class Decision:
    """One decision, as its Event says it."""

    number: int
    """Counts the decisions of a pipeline's triggers from 1."""
    at: float
    """Seconds since 1970."""
    action: str
    """Reason of the Event: `RunStarted` or `NothingNew`."""
    run: str
    reason: str


@dataclass(frozen=True)
class Run:
    """A run, and up to where it has counted."""

    name: str
    pipeline: str
    """Digest of what decides the stages' results."""
    heads: Mapping[str, Head]
    """What it began with, by the run's parameters."""

    @property
    def commits(self) -> dict[str, str]:
        """The commits by parameter."""
        return {name: head.commit for name, head in self.heads.items()}


@dataclass(frozen=True)
class Kept:
    """The state of one pipeline's triggers."""

    last: Run | None = None
    starting: bool = False
    """Whether it is not certain yet that the last run was created."""
    schedules: Mapping[str, int] = field(default_factory=dict)
    """The minute up to which each trigger with a schedule has been looked at, by trigger."""
    decisions: Sequence[Decision] = ()
    """The last ones."""
    calendars: Mapping[str, str] = field(default_factory=dict)
    """Which schedule each trigger with one had, by trigger."""

    def decided(self, now: float, action: str, run: str, reason: str, **changed: Any) -> Kept:
        """The state after a decision."""
        last = self.decisions[-1].number if self.decisions else 0
        made = Decision(last + 1, round(now, 3), action, run, reason)
        return replace(self, decisions=(*self.decisions, made)[-_MOST_DECISIONS:], **changed)

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Kept:
        """From JSON; empty text is a pipeline without a run."""
        if not text:
            return cls()
        plain = json.loads(text)
        last = plain["last"]
        if last:
            heads = {name: Head(**head) for name, head in last["heads"].items()}
            last = Run(last["name"], last["pipeline"], heads)
        decisions = tuple(Decision(**each) for each in plain["decisions"])
        return cls(last, plain["starting"], plain["schedules"], decisions, plain.get("calendars", {}))
