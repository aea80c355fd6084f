"""The spec of the controller of a model server's rollouts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tensorplane.components.base.labels import ADMITTED, CANARY, STABLE, TRACK
from tensorplane.components.base.names import digest_of
from tensorplane.workloads.model_server import manifest as model_server_manifest
from tensorplane.workloads.model_server.canary.settings import CanaryArgs
from tensorplane.workloads.model_server.exposure import manifest as exposure_manifest
from tensorplane.workloads.model_server.settings import ServedModel, ServerSettings, VersionPolicy

_PLACEHOLDER = 2**63 - 1
"""A version that no folder has, in whose place the controller puts others."""
_EXAMPLES = "/examples"
"""Each volume with held-out examples is mounted in a folder of it with the volume's name."""

LABELS, STABLE_LABELS = {TRACK: CANARY}, {TRACK: STABLE}
"""Of the canary's pods, and of the stable ones where a Gateway's routes tell them apart."""
READINESS_GATES = (ADMITTED,)
"""Conditions of the canary's pods, which the controller sets before they get requests."""


@dataclass(frozen=True)
class Rollout:
    """The rollouts of one model of a server."""

    model: str
    served: ServedModel
    canary: CanaryArgs

    @classmethod
    def of(cls, settings: ServerSettings) -> "Rollout | None":
        """Those of a server; None without a canary."""
        if (model := settings.with_canary) is None or (canary := settings.served[model].canary) is None:
            return None
        return cls(model, settings.served[model], canary)

    def description(self, server: str, settings: ServerSettings) -> Mapping[str, Any]:
        """What `agents.rollout` reads."""
        canary, served = self.canary, self.served
        gates = [
            {"metric": gate.metric, "threshold": gate.threshold, "minRequests": gate.least_requests}
            for gate in canary.gate
        ]
        examples = next((gate.examples for gate in canary.gate if gate.examples), None)
        return {
            "server": server,
            "model": self.model,
            "routes": exposure_manifest.routes(settings.expose) if settings.tried_by_route else {},
            "folder": model_server_manifest.folder_of(self.model, served),
            "examples": examples and f"{self.volumes()[examples.volume][0]}/{examples.path}",
            "rollout": {
                "replicas": settings.replicas,
                "canaryReplicas": settings.canary_replicas,
                "percent": canary.percent if settings.tried_by_route else None,
                "gates": gates,
                "deadlineSeconds": canary.deadline_seconds,
                "version": canary.version,
                "pin": served.pin,
                "digest": digest_of([canary.model_dump(mode="json")]),
            },
            "config": {
                "newest": self._text(settings, VersionPolicy(latest=1)),
                "version": self._text(settings, VersionPolicy(specific=[_PLACEHOLDER])),
                "placeholder": str(_PLACEHOLDER),
            },
        }

    def volumes(self) -> Mapping[str, tuple[str, bool]]:
        """The mount path of each volume of the controller, and whether it only reads it."""
        examples = [gate.examples.volume for gate in self.canary.gate if gate.examples]
        of_examples = {volume: (f"{_EXAMPLES}/{volume}", True) for volume in examples}
        if (folder := self.served.location) is None:
            raise ValueError(f"model {self.model} is on no volume: the checks refuse that")
        return {**of_examples, folder.volume: (model_server_manifest.root_of(folder.volume), False)}

    def _text(self, settings: ServerSettings, policy: VersionPolicy) -> str:
        served = {
            name: model.model_copy(update={"pin": None, "versions": policy}) if name == self.model else model
            for name, model in settings.served.items()
        }
        return model_server_manifest.config_text(served)
