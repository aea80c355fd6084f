"""Prints the logs of a job's pods, or of a stage's: those that are there, or new lines until it has ended."""

from __future__ import annotations

from rich.console import Console

from cli.access import Access
from cli.api_values import Object
from cli.commands.logs import deleted_pods, follow, lines, messages, pods, stage
from cli.commands.logs.pods import Choice
from cli.training_jobs import jobset_api
from core.errors import UserError
from core.kube import Kube


def run(access: Access, job: str, choice: Choice, console: Console, *, follows: bool) -> None:
    """Prints the reason of a failure, then the lines."""
    if found := stage.named(access, job):
        (stage.follow if follows else stage.show)(access, found, choice, console)
        return
    job_set = access.job(job)
    if follows:
        follow.until_end(access.api, job_set, choice, console)
    else:
        why = access.command(f"why {job_set['metadata']['name']}")
        # Kept lines are read by a pod, which members of teams may not create.
        show(access.api, job_set, choice, console, why, reads_kept=not access.team)


def show(api: Kube, job_set: Object, choice: Choice, console: Console, why: str, *, reads_kept: bool = True) -> None:
    """The lines that there are, with `reads_kept` of deleted pods too if the job has kept them. UserError if there are
    none.

    `why`: the command that explains the job.
    """
    there = jobset_api.pods(api, job_set)
    messages.reason(job_set, there, console)
    started = [pod for pod in pods.chosen(there, choice) if pods.has_started(pod)]
    sources = () if choice.previous else map(pods.source, started)
    found = {source.place: source.read(api, choice.query) for source in sources}
    if not found and reads_kept:
        found = deleted_pods.lines(api, job_set, choice)
    if not found:
        raise UserError(messages.nothing(job_set, there, choice, why))
    lines.show(found, console)
