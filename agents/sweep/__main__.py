"""Runs a sweep, and keeps its results: `python3 -m agents.sweep SWEEP.json JOURNAL NAMESPACE NAME`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from agents.api import ApiServer
from agents.sweep.cluster import Cluster
from agents.sweep.controller import Controller, Sweep
from agents.sweep.due import Action, said
from agents.sweep.journal import Journal
from agents.sweep.study import Study

_LOOK_SECONDS = 1
"""Reports in the trials' logs are seen this late at most, changes of JobSets at once."""
_TOGETHER_SECONDS = 0.2
"""A JobSet changes several times in a row."""


def main(description: str, journal: str, namespace: str, name: str) -> None:
    """Do what is due until the process is killed, which is safe at any moment, or until the sweep ends the process."""
    sweep = Sweep.read(Path(description).read_text())
    storage = Journal(Path(journal)).storage
    cluster = Cluster(ApiServer(), namespace, name, sweep.name)
    controller = Controller(sweep, Study(storage, sweep.name, sweep.search), cluster, between=_say)
    shown: dict[str, Any] = {}
    while True:
        try:
            trials = controller.trials()
            if (results := controller.results(trials)) != shown:
                cluster.publish(results)
                shown = results
            if sweep.ends and results["finished"]:
                return
            if not controller.step(trials):
                cluster.wait(_LOOK_SECONDS)
                time.sleep(_TOGETHER_SECONDS)
        except OSError as error:
            # The API server or the volume; the next step sees their new state.
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            time.sleep(_LOOK_SECONDS)


def _say(action: Action) -> None:
    print(said(action), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
