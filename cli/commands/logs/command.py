"""Prints the logs of a job's pods, or of a stage's: those that are there, or new lines until it has ended."""

from __future__ import annotations

from rich.console import Console

from tensorplane.cli.access import Access
from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.logs import deleted_pods, follow, lines, messages, pods, stage
from tensorplane.cli.commands.logs.pods import LogsOptions
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube


def run(access: Access, job: str, options: LogsOptions, console: Console, *, follows: bool) -> None:
    """Prints the reason of a failure, then the lines."""
    if found := stage.find_stage(access, job):
        (stage.follow if follows else stage.show)(access, found, options, console)
        return
    job_set = access.job(job)
    if follows:
        follow.until_end(access.api, job_set, options, console)
    else:
        why = access.command(f"why {job_set['metadata']['name']}")
        # Kept lines are read by a pod, which members of teams may not create.
        show(access.api, job_set, options, console, why, reads_deleted=not access.team)


def show(
    api: Kube, job_set: Object, options: LogsOptions, console: Console, why: str, *, reads_deleted: bool = True
) -> None:
    """The lines that there are, with `reads_deleted` of deleted pods too if the job has kept them. UserError if there
    are none.

    `why`: the command that explains the job.
    """
    there = jobset_api.pods(api, job_set)
    messages.reason(job_set, there, console)
    started = [pod for pod in pods.chosen(there, options) if pods.has_started(pod)]
    sources = () if options.previous else map(pods.source, started)
    found = {source.role_and_index: source.read(api, options.query) for source in sources}
    if not found and reads_deleted:
        found = deleted_pods.lines(api, job_set, options)
    if not found:
        raise UserError(messages.nothing(job_set, there, options, why))
    lines.show(found, console)
