"""Events of Kubernetes, by which agents tell what they have decided and done."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from .api import CONFLICT, ApiServer, tolerate
from .state import D

_EVENT_SECONDS = 3600
"""How long the API server has an Event; a restarted controller creates no Event of an older decision again."""


def timestamp(at: float) -> str:
    """A time, in seconds since 1970, as the API has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def event(
    metadata: Mapping[str, Any],
    involved: Mapping[str, Any],
    *,
    reason: str,
    message: str,
    at: str,
    component: str,
    is_warning: bool = False,
) -> dict[str, Any]:
    """An Event. `involved`: the reference of the object that it is about. `component`: the agent's name in it."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata,
        "involvedObject": involved,
        "reason": reason,
        "message": message,
        "type": "Warning" if is_warning else "Normal",
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
        "source": {"component": component},
    }


def create(api: ApiServer, made: Mapping[str, Any]) -> None:
    """Creates an Event, unless one of its name exists."""
    with tolerate(CONFLICT):
        api.send("POST", f"api/v1/namespaces/{made['metadata']['namespace']}/events", made)


@dataclass
class DecisionReporter(Generic[D]):
    """Reports each decision of a controller's state once: by an Event, and by a line of the log."""

    create_event: Callable[[D], object]
    log: Callable[[D], object]
    now: Callable[[], float] = time.time
    """Seconds since 1970."""
    _last: int = field(default=0, init=False)
    """Number of the last decision that this process has reported."""

    def unreported(self, decisions: Sequence[D]) -> list[D]:
        """The decisions that this process has not reported."""
        return [each for each in decisions if each.number > self._last]

    def report(self, decisions: Sequence[D]) -> None:
        """Reports those that are not. Raises OSError if the API server does not take an Event: the next call does."""
        for decision in self.unreported(decisions):
            if self.now() - decision.at < _EVENT_SECONDS:
                self.create_event(decision)
            self.log(decision)
            self._last = decision.number
