"""Runs the controller of the recorded usage: `python3 -m agents.usage STACK_NAMESPACE NAMESPACE…`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from .. import leader_election
from .controller import reconcile


def main(home: str, namespaces: Sequence[str]) -> None:
    """Reconciles until the process is killed, which is safe at any moment."""
    leader = leader_election.wait_to_lead()
    resync_seconds = float(os.environ.get("SECONDS_BETWEEN_LOOKS") or 30)
    while True:
        try:
            with leader.reconciling():
                reconcile(leader.api, home, namespaces, datetime.now(UTC))
        except OSError as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        time.sleep(resync_seconds)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
