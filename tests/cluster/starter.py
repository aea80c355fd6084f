"""`python -m tests.cluster.starter PLACE`: starts the instance of the environment, and kills itself at that place."""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Callable

from tensorplane.core.step import Step
from tensorplane.embedded import cluster
from tensorplane.embedded.cluster import cgroups, network, processes, readiness, starting
from tensorplane.embedded.instance import Instance

_CALLS = {
    "the network": (network, "create"),
    "the cgroups": (cgroups, "create"),
    "the first process": (processes, "launch"),
}
_WAITS = ("the API server", "the node", "the cluster's DNS")
PLACES = (*(f"after {name}" for name in _CALLS), *(f"at {name}" for name in _WAITS))
STAYS = "for ever"
"""No place: the start waits for its API server and never finds it ready."""


def _end(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _prepare(place: str) -> None:
    when, _, name = place.partition(" ")
    if place == STAYS:
        readiness._TIMEOUT_SECONDS = math.inf
        vars(starting)["api_is_ready"] = lambda at: False
    elif when == "after":
        module, function = _CALLS[name]
        made = getattr(module, function)

        def then_end(*values: object) -> None:
            made(*values)
            _end()

        setattr(module, function, then_end)
    else:
        wait = readiness.Wait.until

        def until(self: readiness.Wait, what: str, condition: Callable[[], bool], culprit: str) -> None:
            if what == name:
                _end()
            wait(self, what, condition, culprit)

        readiness.Wait.until = until  # type: ignore[method-assign]


if __name__ == "__main__":
    _prepare(sys.argv[1])
    cluster.start(Instance.current(), Step("cluster"))
