"""Runs the controller of one pipeline's steps: `python3 -m agents.steps NAMESPACE PIPELINE`."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait

from .. import leader_election
from .cluster import Cluster
from .controller import Controller

_PARALLEL_STEPS = 4
"""Steps that are taken at a time."""
_RESYNC_SECONDS = 5
"""Resync interval for steps whose first try failed; other steps are read at once."""
_RESULTS_POLL_SECONDS = 0.1
"""Between two checks whether the volume has the results that a commit waits for."""
_RECONCILE_PAUSE_SECONDS = 0.05
"""Between two reconciles, since a Workflow changes several times in a row."""


def main(namespace: str, pipeline: str) -> None:
    """Reconciles until the process is killed, which is safe at any moment."""
    leader = leader_election.wait_to_lead()
    cluster = Cluster(leader.api, namespace, pipeline)
    with ThreadPoolExecutor(_PARALLEL_STEPS) as pool, ThreadPoolExecutor(1) as watch:
        controller = Controller(cluster, pool, log=lambda line: print(line, flush=True), acting=leader.acting)
        while True:
            try:
                with leader.reconciling():
                    controller.observe()
                changed = watch.submit(cluster.wait, _RESYNC_SECONDS)
                while controller.reconcile() and not changed.done():
                    wait([changed], _RESULTS_POLL_SECONDS)
                changed.result()
            except OSError as error:
                # The API server did not answer; the next reconcile observes its new state.
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
                time.sleep(1)
            time.sleep(_RECONCILE_PAUSE_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
