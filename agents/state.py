"""The state that a controller remembers between two reconciles: a text in a ConfigMap, and the decisions in it.

The ConfigMap's resourceVersion fences the state: a controller cannot write over what another one has written since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from agents.api import ApiServer

MOST_DECISIONS = 20
"""Decisions that a state holds, since a ConfigMap holds at most 1 MiB."""


@dataclass(frozen=True)
class Decision:
    """One decision of a controller. Each agent adds what it decided about, and the reason."""

    number: int
    """Counts the decisions from 1."""
    at: float
    """Seconds since 1970."""
    action: str
    """Reason of the Event, such as `RunStarted`."""


D = TypeVar("D", bound=Decision)


def next_number(decisions: Sequence[Decision]) -> int:
    """The number of the decision after these."""
    return decisions[-1].number + 1 if decisions else 1


def append_decision(decisions: Sequence[D], made: D) -> Sequence[D]:
    """The last decisions, and one that is made now."""
    return (*decisions, made)[-MOST_DECISIONS:]


@dataclass
class ConfigMapState:
    """A state under one key of a ConfigMap, which the platform creates."""

    server: ApiServer
    namespace: str
    name: str
    key: str
    _version: str = field(default="", init=False)

    def read(self) -> str:
        """The text of the state; empty before the first write."""
        found = self.server.send("GET", self._path)
        self._version = found["metadata"]["resourceVersion"]
        return str((found.get("data") or {}).get(self.key, ""))

    def write(self, text: str) -> None:
        """Writes the state. Raises OSError if another controller, which is then in charge, has changed it since."""
        body = {"metadata": {"resourceVersion": self._version}, "data": {self.key: text}}
        self._version = self.server.send("PATCH", self._path, body)["metadata"]["resourceVersion"]

    @property
    def _path(self) -> str:
        return f"api/v1/namespaces/{self.namespace}/configmaps/{self.name}"
