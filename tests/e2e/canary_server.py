"""Model servers whose versions a test publishes, and the decisions about canaries."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorplane.driver import canaries
from tests.e2e import half_models
from tests.e2e.stacks import OwnStack
from tests.support import killed
from tests.support.serving_clients import Clients
from tests.support.waiting import eventually

REPLICAS = 2
SIZE = {"kind": "modelServer", "replicas": REPLICAS, "resources": {"cpus": 0.05, "memoryGib": 1}}
VOLUME = {"sizeGib": 1, "retain": False, "accessModes": ["ReadWriteMany"]}
_GATE = [{"metric": "errorRate", "threshold": 0.05, "minRequests": 40}]
_ASKED = {"instances": [2.0]}


def settings(name: str, **model: Any) -> dict[str, Any]:
    """A server with a canary of its model `name` on the volume `models`."""
    canary = {"percent": 50, "gate": _GATE}
    return {**SIZE, "model": {"volume": "models", "path": name, "canary": canary, **model}}


def answer(number: int) -> str:
    """What the model `half(number)` answers to the clients."""
    return json.dumps(1.0 + number % half_models.COUNT)


class Server:
    """A deployed server of a model with its own name, and the folder of that model's versions."""

    def __init__(self, stack: OwnStack, name: str) -> None:
        self.name, self.namespace, self.kube = name, stack.namespace, stack.kube
        self.url = stack.url(name)
        self.folder: Path = stack.volume() / name
        self._pods = f"/api/v1/namespaces/{stack.namespace}/pods"

    def clients(self) -> Clients:
        return Clients(self.url, _ASKED)

    def pods(self, selector: str = "tensorplane.dev/track!=canary") -> list[dict[str, Any]]:
        found = self.kube.items(self._pods, labelSelector=f"app.kubernetes.io/name={self.name},{selector}")
        return [each for each in found if "deletionTimestamp" not in each["metadata"]]

    def ready(self) -> list[str]:
        """Names of pods that clients reach."""
        return [pod["metadata"]["name"] for pod in self.pods() if _is_ready(pod)]

    def whole(self) -> list[str]:
        """The same, once all are."""
        return eventually(lambda: found if len(found := self.ready()) == REPLICAS else [])

    def publish(self, model: str, version: int) -> None:
        half_models.publish(model, self.folder, version)

    def publish_files(self, version: int, **files: bytes) -> None:
        """A folder that is no whole model, all at once and long after it was written."""
        aside = self.folder.with_name(f".files-{self.name}-{version}")
        aside.mkdir()
        for name, content in files.items():
            (aside / f"{name}.pb").write_bytes(content)
        os.utime(aside, (1, 1))
        aside.rename(self.folder / str(version))

    def remove(self, version: int) -> Callable[[], object]:
        """Takes a version off its folder at once. Returns what puts it back."""
        folder, aside = self.folder / str(version), self.folder.with_name(f".aside-{self.name}-{version}")
        folder.rename(aside)
        return lambda: aside.rename(folder)

    def answers(self, clients: Clients, number: int) -> None:
        """Waits until clients get the answers of `half(number)` alone."""
        eventually(lambda: clients.values_since(time.monotonic() - 1) == {answer(number)})


class CanaryServer(Server):
    """With a canary."""

    def state(self) -> dict[str, Any]:
        found = self.kube.get(f"/api/v1/namespaces/{self.namespace}/configmaps/{self.name}-rollout") or {}
        state: dict[str, Any] = json.loads((found.get("data") or {}).get("rollout.json") or "{}")
        return state

    @property
    def stable(self) -> int:
        return int(self.state()["stable"])

    def next_version(self) -> int:
        """A number above all that were ever published: a version that is refused stays in its folder."""
        there = [int(path.name) for path in self.folder.iterdir() if path.name.isdecimal()]
        return 1 + max([self.stable, *there, *(int(one["version"]) for one in self.state()["decisions"])])

    def decided(self, action: str, version: int) -> dict[str, Any]:
        """The decision, once it is made."""

        def look() -> dict[str, Any]:
            decisions: list[dict[str, Any]] = self.state().get("decisions", [])
            return next((one for one in decisions if (one["action"], one["version"]) == (action, version)), {})

        return eventually(look, about=self.state)

    def settled(self, version: int) -> None:
        """Waits until all stable pods serve a version, and no canary is left: one that ends answers until its address
        is known to be gone."""
        canary = f"app.kubernetes.io/name={self.name},tensorplane.dev/track=canary"
        eventually(
            lambda: (
                self.state().get("stable") == version
                and self.state()["candidate"] is None
                and len(self.ready()) == REPLICAS
                and not self.kube.items(self._pods, labelSelector=canary)
            ),
            about=self.state,
        )

    def tried(self) -> str:
        """What is said of the version that the canary tries."""
        return eventually(lambda: canaries.describe_trial(self.kube, self.namespace, self.name))

    def kill_controller(self) -> None:
        killed.replaced(self.kube, self.namespace, f"app.kubernetes.io/name={self.name}-rollout")


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
