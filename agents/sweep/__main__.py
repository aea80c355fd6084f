"""Runs the controller of one sweep: `python3 -m agents.sweep SWEEP.json JOURNAL NAMESPACE NAME`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from .. import leader_election
from .cluster import Cluster
from .controller import Controller
from .decide import Action, describe
from .journal import Journal, TakenOver
from .spec import SweepSpec
from .study import Study

_RESYNC_SECONDS = 1
"""Resync interval for reports in the trials' logs; changes of JobSets are observed at once."""
_SETTLE_SECONDS = 0.2
"""Before a reconcile that follows a change, since a JobSet changes several times in a row."""


def main(spec_file: str, journal_file: str, namespace: str, name: str) -> None:
    """Reconciles until the process is killed, which is safe at any moment, or until the sweep ends the process.

    Raises TakenOver once another controller runs the sweep.
    """
    leader = leader_election.wait_to_lead()
    spec, journal = SweepSpec.read(Path(spec_file).read_text()), Journal(Path(journal_file))
    cluster = Cluster(leader.api, namespace, name, spec.name)

    def check_and_log(action: Action) -> None:
        # A controller that another one has taken over from must not act.
        journal.check()
        print(describe(action), flush=True)

    controller = Controller(spec, Study(journal.storage, spec.name, spec.search), cluster, before_action=check_and_log)
    written: dict[str, Any] = {}
    while True:
        try:
            with leader.reconciling():
                trials = controller.observe()
                if (results := controller.results(trials)) != written:
                    cluster.write_results(results)
                    written = results
                if spec.ends_with_last_trial and results["finished"]:
                    return
                is_idle = not controller.reconcile(trials)
            if is_idle:
                cluster.wait(_RESYNC_SECONDS)
                time.sleep(_SETTLE_SECONDS)
        except OSError as error:
            # The API server or the volume; the next reconcile observes their new state.
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            time.sleep(_RESYNC_SECONDS)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except TakenOver as error:
        sys.exit(str(error))
