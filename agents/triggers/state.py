"""The state of a pipeline's triggers: the last run, whether it was created, and the decisions.

A run is in the state before it is created, with the commits that it counted. So if a controller is killed in between,
the next one creates the run, and counts begin after it either way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..state import Decision, append_decision, next_number
from .commits import Head


@dataclass(frozen=True)
class TriggerDecision(Decision):
    """A decision about a run, as its Event tells it: `RunStarted` or `NothingNew`."""

    run: str
    reason: str


@dataclass(frozen=True)
class Run:
    """A run, and the commits up to which it has counted."""

    name: str
    pipeline: str
    """Digest of what decides the stages' results."""
    heads: Mapping[str, Head]
    """The commits that it began with, by the run's parameters."""

    @property
    def commits(self) -> dict[str, str]:
        """The commits by parameter."""
        return {name: head.commit for name, head in self.heads.items()}


@dataclass(frozen=True)
class TriggerState:
    """The state of one pipeline's triggers."""

    last: Run | None = None
    starting: bool = False
    """Whether the last run may still have to be created."""
    schedules: Mapping[str, int] = field(default_factory=dict)
    """The minute up to which each schedule was checked, by trigger."""
    decisions: Sequence[TriggerDecision] = ()
    """The last decisions."""
    calendars: Mapping[str, str] = field(default_factory=dict)
    """A digest of each schedule, by trigger."""

    def with_decision(self, now: float, action: str, run: str, reason: str, **changes: Any) -> TriggerState:
        """The state after a decision. `changes`: other fields that it changes."""
        made = TriggerDecision(next_number(self.decisions), round(now, 3), action, run, reason)
        return replace(self, decisions=append_decision(self.decisions, made), **changes)

    def to_json(self) -> str:
        """The text in the ConfigMap."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> TriggerState:
        """From the text in the ConfigMap, which is empty before the first run."""
        if not text:
            return cls()
        plain = json.loads(text)
        last = plain["last"]
        if last:
            heads = {name: Head(**head) for name, head in last["heads"].items()}
            last = Run(last["name"], last["pipeline"], heads)
        decisions = tuple(TriggerDecision(**each) for each in plain["decisions"])
        return cls(last, plain["starting"], plain["schedules"], decisions, plain.get("calendars", {}))
