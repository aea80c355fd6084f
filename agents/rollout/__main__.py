"""Runs the rollouts of one model server: `python3 -m agents.rollout ROLLOUT.json NAMESPACE`."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from agents import leader_election
from agents.rollout.cluster import Cluster
from agents.rollout.controller import Controller
from agents.rollout.spec import Described
from agents.rollout.state import Decision


def main(description: str, namespace: str) -> None:
    """Do what is due until the process is killed, which is safe at any moment."""
    plain = json.loads(Path(description).read_text())
    described, texts = Described.read(plain), plain["config"]
    lead = leader_election.begin()
    cluster = Cluster(
        lead.server,
        namespace,
        described.server,
        texts["version"],
        texts["placeholder"],
        texts["newest"],
        described.routes,
    )
    controller = Controller(described, cluster, said=_say, warned=_warn)
    between = float(os.environ.get("SECONDS_BETWEEN_LOOKS") or 2)
    while True:
        try:
            with lead.turn():
                controller.step()
        except (OSError, ValueError) as error:
            # The API server, a pod or the volume; the next step sees their new state.
            _warn(f"{type(error).__name__}: {error}")
        time.sleep(between)


def _say(decision: Decision) -> None:
    print(f"{decision.action}: version {decision.version}: {decision.reason}", flush=True)


def _warn(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
