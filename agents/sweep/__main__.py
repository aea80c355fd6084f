"""Runs a sweep, and keeps its results: `python3 -m agents.sweep SWEEP.json JOURNAL NAMESPACE NAME`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from agents import leader_election
from agents.sweep.cluster import Cluster
from agents.sweep.controller import Controller, Sweep
from agents.sweep.decide import Action, said
from agents.sweep.journal import Journal, TakenOver
from agents.sweep.study import Study

_LOOK_SECONDS = 1
"""Reports in the trials' logs are seen this late at most, changes of JobSets at once."""
_TOGETHER_SECONDS = 0.2
"""A JobSet changes several times in a row."""


def main(description: str, journal: str, namespace: str, name: str) -> None:
    """Do what is due until the process is killed, which is safe at any moment, or until the sweep ends the process.

    Raises TakenOver once another controller runs the sweep.
    """
    lead = leader_election.begin()
    sweep, kept = Sweep.read(Path(description).read_text()), Journal(Path(journal))
    cluster = Cluster(lead.server, namespace, name, sweep.name)

    def say(action: Action) -> None:
        kept.check()
        print(said(action), flush=True)

    controller = Controller(sweep, Study(kept.storage, sweep.name, sweep.search), cluster, between=say)
    shown: dict[str, Any] = {}
    while True:
        try:
            with lead.turn():
                trials = controller.trials()
                if (results := controller.results(trials)) != shown:
                    cluster.publish(results)
                    shown = results
                if sweep.ends and results["finished"]:
                    return
                is_idle = not controller.step(trials)
            if is_idle:
                cluster.wait(_LOOK_SECONDS)
                time.sleep(_TOGETHER_SECONDS)
        except OSError as error:
            # The API server or the volume; the next step sees their new state.
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            time.sleep(_LOOK_SECONDS)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except TakenOver as other:
        sys.exit(str(other))
