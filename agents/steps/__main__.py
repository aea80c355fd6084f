"""Takes the steps of one pipeline's stages: `python3 -m agents.steps NAMESPACE PIPELINE`."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait

from agents import leader_election
from agents.steps.cluster import Cluster
from agents.steps.controller import Controller

_AT_ONCE = 4
"""Steps that are taken at a time."""
_LOOK_SECONDS = 5
"""Steps whose first try failed are seen this late at most, others at once."""
_RESULTS_SECONDS = 0.1
"""Between two looks whether the results that a commit waits for are on the volume."""
_TOGETHER_SECONDS = 0.05
"""A Workflow changes several times in a row."""


def main(namespace: str, pipeline: str) -> None:
    """Do what is due until the process is killed, which is safe at any moment."""
    lead = leader_election.begin()
    cluster = Cluster(lead.server, namespace, pipeline)
    with ThreadPoolExecutor(_AT_ONCE) as pool, ThreadPoolExecutor(1) as watch:
        controller = Controller(cluster, pool, said=lambda line: print(line, flush=True), working=lead.work)
        while True:
            try:
                with lead.turn():
                    controller.look()
                changed = watch.submit(cluster.wait, _LOOK_SECONDS)
                while controller.take() and not changed.done():
                    wait([changed], _RESULTS_SECONDS)
                changed.result()
            except OSError as error:
                # The API server; the next look sees its new state.
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
                time.sleep(1)
            time.sleep(_TOGETHER_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
