"""The state that a controller keeps between two reconciles: a text in a ConfigMap, and the decisions in it.

The ConfigMap's resourceVersion fences the state: a controller cannot overwrite what another one has written since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from .api import ApiServer

MOST_DECISIONS = 20
"""Decisions that a state holds, the last ones: a ConfigMap holds at most 1 MiB."""


@dataclass(frozen=True)
class Decision:
    """One decision of a controller. Each agent's subclass adds the subject of the decision and its reason."""

    number: int
    """Position among all decisions of the controller, from 1."""
    at: float
    """When it was made, in seconds since 1970."""
    action: str
    """The `reason` of its Event, such as `RunStarted`."""


D = TypeVar("D", bound=Decision)


def next_number(decisions: Sequence[Decision]) -> int:
    """The number of the decision after these."""
    return decisions[-1].number + 1 if decisions else 1


def append_decision(decisions: Sequence[D], made: D) -> Sequence[D]:
    """The decisions and a new one, without the oldest beyond MOST_DECISIONS."""
    return (*decisions, made)[-MOST_DECISIONS:]


@dataclass
class ConfigMapState:
    """A controller's state under one key of a ConfigMap that the stack has created."""

    api: ApiServer
    namespace: str
    name: str
    key: str
    _resource_version: str = field(default="", init=False)

    def read(self) -> str:
        """The text under the key; empty before the first write. `write` then fences it."""
        found = self.api.send("GET", self._path)
        self._resource_version = found["metadata"]["resourceVersion"]
        return str((found.get("data") or {}).get(self.key, ""))

    def write(self, text: str) -> None:
        """Replaces the text. Raises OSError if another controller has changed the ConfigMap since `read` or `write`."""
        body = {"metadata": {"resourceVersion": self._resource_version}, "data": {self.key: text}}
        self._resource_version = self.api.send("PATCH", self._path, body)["metadata"]["resourceVersion"]

    @property
    def _path(self) -> str:
        return f"api/v1/namespaces/{self.namespace}/configmaps/{self.name}"
