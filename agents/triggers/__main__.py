"""Runs the triggers of one pipeline: `python3 -m agents.triggers TRIGGERS.json NAMESPACE CONFIG_MAP`."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from agents import leader_election
from agents.triggers.cluster import Cluster
from agents.triggers.controller import Controller
from agents.triggers.spec import Described


def main(description: str, namespace: str, memory: str) -> None:
    """Do what is due until the process is killed, which is safe at any moment."""
    described = Described.read(json.loads(Path(description).read_text()))
    lead = leader_election.begin()
    cluster = Cluster(lead.server, namespace, described.pipeline, memory)
    controller = Controller(described, cluster, said=lambda line: print(line, flush=True))
    between = float(os.environ.get("SECONDS_BETWEEN_LOOKS") or 1)
    failed = ""
    while True:
        try:
            with lead.turn():
                controller.step()
            failed = ""
        except (OSError, ValueError) as error:
            # The API server or a volume; the next step sees their new state.
            line = f"{type(error).__name__}: {error}"
            if line != failed:
                print(line, file=sys.stderr, flush=True)
            failed = line
        time.sleep(between)


if __name__ == "__main__":
    main(*sys.argv[1:])
