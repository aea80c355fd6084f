"""Runs the controller of lost, leaving and faulty nodes: `python3 -m agents.lost_nodes NAMESPACE…`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

from .. import leader_election
from ..api import ApiServer
from .cluster import Cluster
from .controller import observe, reconcile
from .evictions import Evictions
from .nodes import Heartbeats

_RESYNC_SECONDS = 1.0
"""Between two reconciles, of which each takes a second."""


def main(namespaces: Sequence[str]) -> None:
    """Reconciles until the process is killed, which is safe at any moment.

    A process that waits for the Lease observes the heartbeats: the leader may be on the node that is lost.
    """
    after = os.environ.get("LOST_AFTER_SECONDS")
    heartbeats, read_only = Heartbeats(float(after) if after else None), Cluster(ApiServer(), ())
    leader = leader_election.wait_to_lead(watch=lambda: observe(read_only, heartbeats, time.monotonic()))
    cluster = Cluster(leader.api, namespaces, os.environ.get("CONTROLLERS", "").split())
    evictions = Evictions(cluster)
    while True:
        try:
            with leader.reconciling():
                reconcile(cluster, heartbeats, evictions, time.monotonic())
        except OSError as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        time.sleep(_RESYNC_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1:])
