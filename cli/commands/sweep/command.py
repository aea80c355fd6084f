"""`tensorplane sweep -f`: submits a sweep and follows it; `--publish`: publishes the model of its best trial."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from tensorplane.cli.access import Access
from tensorplane.cli.commands.run import publication, submission
from tensorplane.cli.commands.run.create import SubmitState
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.run.request import JobRequest
from tensorplane.cli.commands.run.submission import SubmitOptions, size_text
from tensorplane.cli.commands.sweep import follow, plan, results
from tensorplane.cli.commands.sweep.plan import Planned
from tensorplane.cli.commands.sweep.results import Results
from tensorplane.components.base.labels import NAME, TRIAL
from tensorplane.components.base.plural import number_of
from tensorplane.core.errors import UserError
from tensorplane.driver import sweep_image
from tensorplane.driver.target import Target


def run(options: SubmitOptions, console: Console) -> None:
    """Submits the sweep, and follows it unless that is not wanted. A UserError if it is refused, or fails."""
    this = submission.ready(options, plan.planned)
    if this is None:
        return
    _provide_image(this.access, this.planned.image)
    submitted = submission.submit(this, _summary, console)
    if submitted.state == "finished":
        if found := follow.of_run(this.access, submitted.job_set):
            results.show(found, console)
        return

    def until_end() -> None:
        follow.until_end(this.access, submitted.job_set, console)

    submission.follow(this, until_end, console, hint="See its results", shows="sweep", detach=options.detach)


def _provide_image(access: Access, image: str) -> None:
    """Loads the controller's image into the embedded cluster; for teams, `tensorplane up` has done that."""
    if not access.team and (target := Target.of(access.context, stack=access.stack)).embedded:
        sweep_image.provide(target.instance, image)


def _summary(planned: Planned, state: SubmitState) -> str:
    """What was submitted, and what it costs."""
    size = f"{number_of(planned.trials, 'trial')}, {planned.parallel} at once, {size_text(planned)}"
    what = {
        "new": f"submitted to {planned.namespace}: {size}",
        "there": f"is submitted already: {size}",
        "finished": "the same sweep with the same files has finished already; run it once more with --again",
        "changed": f"goes on with its study: {size}",
        "continued": f"goes on with its study: {size}",
    }
    return f"{planned.run}: {what[state]}"


def publish_best(access: Access, sweep: str, server: str, console: Console) -> None:
    """Starts the job and follows it to its end. A UserError if the sweep has not ended, or if the job fails."""
    stored = results.get_results(access, sweep)
    trial = json.loads((stored["metadata"].get("annotations") or {}).get(TRIAL, "{}"))
    platform = Platform.of_team(access) if access.team else Platform.of_stack(access.stack)
    found = results.read(json.loads(results.text_of(access, stored)))
    job, best = publication_job(stored["metadata"]["labels"][NAME], found, trial, server, platform)
    publication.publish(access, platform, job, best, console)


def publication_job(
    sweep: str, found: Results, trial: Mapping[str, Any], server: str, platform: Platform
) -> tuple[JobRequest, str]:
    """The job that publishes, and the run of the best trial. `trial`: its volumes, model and queue."""
    if not found.finished:
        ended = sum(one.state != "open" for one in found.trials)
        of = f"{ended} of {number_of(found.planned, 'trial')}"
        raise UserError(f"--publish: {found.run} has ended {of}, and a later one may be better; wait for the others")
    if (best := found.best) is None:
        raise UserError(f"--publish: no trial of {found.run} is complete; see: tensorplane sweep {sweep}")
    if not (model := trial.get("model")):
        raise UserError(f"--publish: the trials of {found.run} keep no model; set workloads.{sweep}.trial.model")
    of_trial = {**trial, "model": {**model, "path": f"{model['path']}/{best.run}"}}
    return publication.job(sweep, of_trial, server, platform), best.run
