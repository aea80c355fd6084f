"""What the user declared for a pipeline's triggers, as the platform writes it into the controller's ConfigMap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .commits import Log

VERSIONS, FILES, BYTES, WINDOWS = "versions", "files", "bytes", "windows"
"""What can be counted since the last run: commits, files added or changed, their bytes, windows of a stream."""
_MAIN = "main"


@dataclass(frozen=True)
class Trigger:
    """One trigger: a count of what is new in some sources, or a schedule."""

    name: str
    sources: tuple[str, ...]
    """The parameters of a run whose datasets are counted."""
    unit: str | None
    """What is counted: versions, files, bytes or windows; None for a schedule."""
    at_least: int
    schedule: tuple[frozenset[int] | None, ...]
    """Minutes, hours, days of the month, months, days of the week from Sunday, in UTC; None for every value. Empty for
    a count."""
    quiet_seconds: float
    """How long no further commit may come before a run starts."""
    max_wait_seconds: float
    """How long a run waits for that at most."""


@dataclass(frozen=True)
class TriggerSpec:
    """A pipeline and its triggers."""

    pipeline: str
    logs: Mapping[str, Log]
    """The branch of each parameter of a run."""
    outputs: Mapping[str, Log]
    """The branch of each dataset of which a run makes a version."""
    triggers: Sequence[Trigger]

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> TriggerSpec:
        """From JSON."""
        logs = {name: Log(Path(one["root"]), one["branch"]) for name, one in plain["sources"].items()}
        outputs = {name: Log(Path(root), _MAIN) for name, root in plain["outputs"].items()}
        triggers = [_trigger(name, one) for name, one in sorted(plain["triggers"].items())]
        return cls(plain["pipeline"], logs, outputs, triggers)


def _trigger(name: str, plain: Mapping[str, Any]) -> Trigger:
    fields = tuple(None if one is None else frozenset(one) for one in plain.get("schedule") or ())
    return Trigger(
        name,
        tuple(plain["sources"]),
        plain.get("counts"),
        plain.get("atLeast", 1),
        fields,
        plain["quietSeconds"],
        plain["longestSeconds"],
    )
