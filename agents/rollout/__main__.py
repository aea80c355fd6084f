"""Runs the controller of one model server's rollouts: `python3 -m agents.rollout ROLLOUT.json NAMESPACE`."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from .. import leader_election
from .cluster import Cluster
from .controller import Controller
from .spec import RolloutSpec
from .state import RolloutDecision


def main(file: str, namespace: str) -> None:
    """Reconciles until the process is killed, which is safe at any moment."""
    plain = json.loads(Path(file).read_text())
    spec, texts = RolloutSpec.read(plain), plain["config"]
    leader = leader_election.wait_to_lead()
    models = (texts["version"], texts["placeholder"], texts["newest"])
    cluster = Cluster(leader.api, namespace, spec.server, *models, spec.routes)
    controller = Controller(spec, cluster, log=_log, warn=_warn)
    resync_seconds = float(os.environ.get("SECONDS_BETWEEN_LOOKS") or 2)
    while True:
        try:
            with leader.reconciling():
                controller.reconcile()
        except (OSError, ValueError) as error:
            # The API server, a pod or the volume; the next reconcile observes their new state.
            _warn(f"{type(error).__name__}: {error}")
        time.sleep(resync_seconds)


def _log(decision: RolloutDecision) -> None:
    print(f"{decision.action}: version {decision.version}: {decision.reason}", flush=True)


def _warn(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
