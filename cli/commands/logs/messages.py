"""What is said of a job beside its lines: why it failed, why there are no lines."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.logs.pods import LogsOptions
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.components.base.plural import none_of
from tensorplane.driver.runs import failures


def reason(job_set: Object, there: Sequence[Object], console: Console) -> None:
    """Why a failed job failed, before its lines."""
    if jobset_api.outcome(job_set) == "failed":
        found = failures.first_failure(there) or [failures.without_pods(job_set)]
        console.print(Text(found[0], style="bold red"))
        for line in found[1:]:
            console.print(Text(line, style="red"))


def nothing(job_set: Object, there: Sequence[Object], options: LogsOptions, why: str) -> str:
    """Why there are no lines. `why`: the command that explains the job."""
    name = job_set["metadata"]["name"]
    if options.previous:
        return f"{name}: no earlier start of its pods is kept; jobs with `checkpoints` and a Python command keep them"
    if jobset_api.outcome(job_set):
        return (
            f"{name}: has ended, and its pods are deleted; jobs with `checkpoints` and a Python command keep their logs"
        )
    if job_set["spec"].get("suspend"):
        return f"{name}: waits in its queue, so it has no pods; see why with: {why}"
    return f"{name}: {none_of(len(there), 'pod')} started; see why with: {why}"
