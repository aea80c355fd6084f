"""Starts a job and follows it: its place in the queue, then its lines, then its end."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from tensorplane.cli.commands.logs import follow
from tensorplane.cli.commands.logs.pods import LogsOptions
from tensorplane.cli.commands.run import create, plan, publication, submission
from tensorplane.cli.commands.run.create import SubmitState
from tensorplane.cli.commands.run.plan import Planned
from tensorplane.cli.commands.run.request import section
from tensorplane.cli.commands.run.submission import Ready, SubmitOptions, size_text
from tensorplane.driver.runs.job_set import JobSet

_AGAIN_REMEDY = "run it once more with --again"


def run(options: SubmitOptions, console: Console) -> None:
    """Submits the job, and follows it unless that is not wanted. A UserError if it is refused, or fails.

    Of a run that has finished, only what follows its success is done.
    """
    this = submission.ready(options, plan.planned)
    if this is None:
        return
    then = section(options.job.training, "onSuccess")
    if create.expected_state(this.access.api, this.planned) == "changed" and "command" not in then:
        if server := then.get("publish"):
            _publish(this, options, server, console)
            return
        if JobSet(this.planned.manifest.job_set).notes_its_end:
            reason = "has finished, and neither its size nor its queue decides its result"
            console.print(Text(f"{this.planned.run}: {reason}; {_AGAIN_REMEDY}"))
            return
    submitted = submission.submit(this, submitted_text, console)
    if submitted.state == "finished":
        return

    def until_end() -> None:
        submission.until_admitted(this.access, submitted.job_set, console)
        follow.until_end(this.access.api, submitted.job_set, LogsOptions(), console)

    submission.follow(this, until_end, console, hint="Follow it", shows="logs -f", detach=options.detach)


def _publish(this: Ready[Planned], options: SubmitOptions, server: str, console: Console) -> None:
    """Publishes the model of a run that has finished, which stays as it is."""
    run = this.planned.run
    job = publication.job(run, options.job.training, server, this.platform)
    publication.publish(this.access, this.platform, job, run, console, detach=options.detach)


def submitted_text(planned: Planned, state: SubmitState) -> str:
    """What was submitted, and what it costs."""
    asks, job_set = size_text(planned), JobSet(planned.manifest.job_set)
    resumes = job_set.has_checkpoints
    again = "goes on from its checkpoints" if resumes else "starts again"
    before = "; goes on from its checkpoints if it has any" if resumes else ""
    what = {
        "new": f"submitted to {planned.namespace}: {asks}{before}",
        "there": f"is submitted already: {asks}",
        "finished": f"the same command with the same files has finished already; {_AGAIN_REMEDY}",
        "changed": f"{'has finished; runs onSuccess.command' if job_set.notes_its_end else again}: {asks}",
        "continued": f"{again}: {asks}",
    }
    return f"{planned.run}: {what[state]}"
