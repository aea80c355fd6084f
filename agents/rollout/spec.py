"""What the user declared for a server's rollouts, as the platform writes it into the controller's ConfigMap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .gates import Gate


@dataclass(frozen=True)
class Rollout:
    """The settings."""

    replicas: int
    canary_replicas: int
    """How many of the replicas are canary pods while a version is tried; at least one, and fewer than `replicas` unless
    that is 1."""
    gates: Sequence[Gate]
    deadline_seconds: float
    """A canary that no gate has decided about by then is rolled back."""
    version: int | None = None
    """The only version that is tried; None: each new one."""
    pin: int | None = None
    """The version that is served, whatever else is on the volume."""
    percent: int | None = None
    """The canary's part of the requests that the routes of a Gateway divide; None: without one, they are divided by
    pods."""
    digest: str = ""
    """Digest of the settings; versions that other settings refused are tried again."""

    @property
    def stable_beside_canary(self) -> int:
        # Routes leave the stable pods a part of the requests that does not depend on how many they are.
        return self.replicas if self.percent else max(1, self.replicas - self.canary_replicas)


@dataclass(frozen=True)
class RolloutSpec:
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
    def read(cls, plain: Mapping[str, Any]) -> RolloutSpec:
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
        examples = Path(plain["examples"]) if plain["examples"] else None
        return cls(plain["server"], plain["model"], Path(plain["folder"]), rollout, examples, plain["routes"])
