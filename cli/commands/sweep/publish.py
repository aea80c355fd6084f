"""Publishes the model of a sweep's best trial to a model server: a small job copies it, in the name of the trial."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from cli.access import Access
from cli.commands.run import publication
from cli.commands.run.platform import Platform
from cli.commands.run.request import JobRequest
from cli.commands.sweep import results
from cli.commands.sweep.results import Results
from components.base.labels import NAME, TRIAL
from components.base.plural import counted
from core.errors import UserError


def run(access: Access, sweep: str, server: str, console: Console) -> None:
    """Starts the job and follows it to its end. A UserError if the sweep has not ended, or if the job fails."""
    kept = results.kept(access, sweep)
    trial = json.loads((kept["metadata"].get("annotations") or {}).get(TRIAL, "{}"))
    platform = Platform.of_team(access) if access.team else Platform.of_stack(access.stack)
    found = results.read(json.loads(results.text_of(access, kept)))
    job, best = job_of(kept["metadata"]["labels"][NAME], found, trial, server, platform)
    publication.publish(access, platform, job, best, console)


def job_of(
    sweep: str, found: Results, trial: Mapping[str, Any], server: str, platform: Platform
) -> tuple[JobRequest, str]:
    """The job that publishes, and the run of the best trial. `trial`: its volumes, model and queue."""
    if not found.finished:
        ended = sum(one.state != "open" for one in found.trials)
        of = f"{ended} of {counted(found.planned, 'trial')}"
        raise UserError(f"--publish: {found.run} has ended {of}, and a later one may be better; wait for the others")
    if (best := found.best) is None:
        raise UserError(f"--publish: no trial of {found.run} is complete; see: tensorplane sweep {sweep}")
    if not (model := trial.get("model")):
        raise UserError(f"--publish: the trials of {found.run} keep no model; set workloads.{sweep}.trial.model")
    of_trial = {**trial, "model": {**model, "path": f"{model['path']}/{best.run}"}}
    return publication.job(sweep, of_trial, server, platform), best.run
