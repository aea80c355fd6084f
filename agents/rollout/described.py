"""What the platform wrote for a rollout's controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.rollout.decide import Rollout
from agents.rollout.gates import Gate


@dataclass(frozen=True)
class Described:
    """One server and the model that it rolls out."""

    server: str
    model: str
    folder: Path
    """The model's folder, with a folder for each version."""
    rollout: Rollout
    examples: Path | None = None
    """Held-out examples for the accuracy."""

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Described:
        """From its JSON."""
        settings = plain["rollout"]
        rollout = Rollout(
            replicas=settings["replicas"],
            canary_replicas=settings["canaryReplicas"],
            gates=[Gate(each["metric"], each["threshold"], each["minRequests"]) for each in settings["gates"]],
            deadline_seconds=settings["deadlineSeconds"],
            version=settings["version"],
            pin=settings["pin"],
            digest=settings["digest"],
        )
        asked = plain["examples"]
        return cls(plain["server"], plain["model"], Path(plain["folder"]), rollout, Path(asked) if asked else None)
