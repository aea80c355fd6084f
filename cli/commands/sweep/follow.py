"""Follows a submitted sweep: a line for each trial that starts or ends, and its results at the end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from tensorplane.cli.access import Access
from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.logs import messages
from tensorplane.cli.commands.sweep import results
from tensorplane.cli.commands.sweep.results import Results, Trial
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.core.errors import UserError
from tensorplane.workloads.sweep.controller_objects import RESULTS_SUFFIX

_LOOK_SECONDS = 1.0
_STYLES = {"open": "", "complete": "green", "pruned": "dim", "failed": "red"}


def until_end(access: Access, job_set: Object, console: Console) -> None:
    """Prints lines as the trials start and end. A UserError if the controller failed, or if the sweep is cancelled."""
    states: dict[int, str] = {}
    while True:
        # First the end, so that the results of an ended sweep are its last ones.
        current = access.api.get(jobset_api.path(job_set))
        if current is None or current["metadata"].get("deletionTimestamp"):
            raise UserError(f"{job_set['metadata']['name']}: was cancelled")
        ended, found = jobset_api.outcome(current), of_run(access, current)
        for line in news(found, states) if found else ():
            console.print(line)
        if ended == "failed":
            messages.reason(current, jobset_api.pods(access.api, current), console)
            raise UserError(f"{job_set['metadata']['name']}: its controller failed; run the same command to continue")
        if ended and found:
            results.show(found, console)
            return
        time.sleep(_LOOK_SECONDS)


def of_run(access: Access, job_set: Object) -> Results | None:
    """The results so far; None if there are none yet."""
    about = job_set["metadata"]
    path = f"/api/v1/namespaces/{about['namespace']}/configmaps/{about['name']}{RESULTS_SUFFIX}"
    text = results.written(access.api.get(path) or {})
    return results.read(json.loads(text)) if text else None


def news(found: Results, states: dict[int, str]) -> Iterator[Text]:
    """A line for each trial whose state is another than the one in `states`, which gets it."""
    for trial in found.trials:
        if trial.number not in states:
            yield Text(f"{trial.run}: starts with {results.values(trial)}")
            states[trial.number] = "open"
        if trial.state != states[trial.number]:
            yield Text(f"{trial.run}: {_end(trial, found.metric)}", style=_STYLES[trial.state])
            states[trial.number] = trial.state


def _end(trial: Trial, metric: str) -> str:
    steps = "" if trial.steps is None else f" after {trial.steps:,} step{'s' if trial.steps != 1 else ''}"
    best = "" if trial.best is None else f", {metric} {trial.best:.5g}"
    return f"{trial.state}{steps}{best}"
