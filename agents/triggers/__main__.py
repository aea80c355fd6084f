"""Runs the controller of one pipeline's triggers: `python3 -m agents.triggers TRIGGERS.json NAMESPACE CONFIG_MAP`."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from .. import leader_election
from .cluster import Cluster
from .controller import Controller
from .spec import TriggerSpec


def main(file: str, namespace: str, config_map: str) -> None:
    """Reconciles until the process is killed, which is safe at any moment."""
    spec = TriggerSpec.read(json.loads(Path(file).read_text()))
    leader = leader_election.wait_to_lead()
    cluster = Cluster(leader.api, namespace, spec.pipeline, config_map)
    controller = Controller(spec, cluster, log=lambda line: print(line, flush=True))
    resync_seconds = float(os.environ.get("SECONDS_BETWEEN_LOOKS") or 1)
    printed = ""
    while True:
        try:
            with leader.reconciling():
                controller.reconcile()
            printed = ""
        except (OSError, ValueError) as error:
            # The API server or a volume; the next reconcile observes their new state.
            line = f"{type(error).__name__}: {error}"
            if line != printed:
                print(line, file=sys.stderr, flush=True)
            printed = line
        time.sleep(resync_seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
