"""What the platform wrote for a rollout's controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    routes: Mapping[str, int] = field(default_factory=dict)
    """The port of the server to which each route of a Gateway leads, by the route's kind."""

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
            percent=settings["percent"],
            digest=settings["digest"],
        )
        asked = plain["examples"]
        examples, routes = Path(asked) if asked else None, plain["routes"]
        return cls(plain["server"], plain["model"], Path(plain["folder"]), rollout, examples, routes)
