"""Runs the controller of the Workloads in these namespaces, and of the flavors of the stack's nodes:
`python3 -m agents.quota_return NAMESPACE…`."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from .. import leader_election
from . import controller, flavors
from .controller import print_error
from .state import Delays


def main(namespaces: Sequence[str]) -> None:
    """Reconciles until the process is killed, which is safe at any moment."""
    standard = Delays()
    delays = Delays(
        after=timedelta(seconds=_seconds("SECONDS_TO_START", standard.after.total_seconds())),
        first=timedelta(seconds=_seconds("SECONDS_TO_TRY_AGAIN", standard.first.total_seconds())),
    )
    nodes_are_added = os.environ.get("NODES_ARE_ADDED") != "false"
    names, cohort = (os.environ.get("FLAVORS") or "").split(), os.environ.get("COHORT") or ""
    leader = leader_election.wait_to_lead()
    api = leader.api
    actions: list[Callable[[], None]] = [
        # Without flavors of autoscaled groups, which get nodes.
        *([lambda: flavors.reconcile(api, names, cohort)] if names else []),
        lambda: controller.reconcile(api, namespaces, datetime.now(UTC), delays, nodes_are_added=nodes_are_added),
    ]
    while True:
        # Until the next reconcile, Kueue's own time limit holds.
        with contextlib.suppress(OSError), leader.reconciling():
            _attempt(actions)
        time.sleep(_seconds("SECONDS_BETWEEN_LOOKS", 15))


def _attempt(actions: Iterable[Callable[[], None]]) -> None:
    """Does all actions. Raises the last OSError of one."""
    failed: OSError | None = None
    for action in actions:
        try:
            action()
        except OSError as error:
            print_error(f"{type(error).__name__}: {error}")
            failed = error
    if failed:
        raise failed


def _seconds(name: str, default: float) -> float:
    return float(os.environ.get(name) or default)


if __name__ == "__main__":
    main(sys.argv[1:])
