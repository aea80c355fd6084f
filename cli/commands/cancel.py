"""`tensorplane cancel JOB`: stops a training job; its checkpoints stay."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from tensorplane.cli import options

if TYPE_CHECKING:
    from tensorplane.cli.access import Access
    from tensorplane.cli.api_values import Object
    from tensorplane.cli.training_jobs.listing import Job


def cancel(job: str, stack: str, team: str | None, context: str) -> str:
    """Deletes the JobSet of a job that has not ended, and says what stays. A UserError if it has ended."""
    from tensorplane.cli.access import Access
    from tensorplane.cli.training_jobs import find, jobset_api
    from tensorplane.core import command_lines
    from tensorplane.core.errors import UserError
    from tensorplane.driver.runs.job_set import JobSet

    access = Access.of(stack, team, context)
    job_set = access.job(job, alive=True)
    about = job_set["metadata"]
    if word := jobset_api.outcome(job_set):
        raise UserError(f"{about['name']}: has {word} already, so there is nothing to cancel")
    delete(access, job_set)
    if jobset_api.is_sweep_controller(job_set):
        return f"{about['name']}: cancelled, and its trials with it; the same command continues it from its study"
    text = f"{about['name']}: {stopped(job_set)}"
    if not access.team and not _waits(job_set) and (saved := JobSet(job_set).kept_lines):
        text += f"\nIts lines are kept: {access.command(f'cp {saved} .')}"
    name = find.shown(job_set, access.namespace)
    declared = access.declared.get(name)
    if isinstance(declared, Mapping) and declared.get("kind") == "notebook":
        text += f"\nStart it again with: {access.command(f'notebook {name}')}"
    elif name in access.declared:
        again = command_lines.refresh(access.stack, context)
        text += f"\nThe stack declares it: remove it from the settings, or create it again with: {again}"
    return text


def delete(access: Access, job_set: Object) -> None:
    """Deletes the JobSet of a job that has not ended; `jobs` lists it as cancelled."""
    from tensorplane.cli.training_jobs import cancelled, jobset_api
    from tensorplane.core.errors import UserError

    so_far = _so_far(access, job_set)
    # In the foreground: the JobSet is there, and its GPUs count, until its pods have ended.
    access.api.delete(jobset_api.path(job_set), propagationPolicy="Foreground")
    if so_far:
        with contextlib.suppress(UserError):  # it is cancelled all the same
            cancelled.note(access.api, so_far)


def _so_far(access: Access, job_set: Object) -> Job | None:
    """What `jobs` lists of it, as of now; None if the user may not read it."""
    from tensorplane.cli.training_jobs import listing
    from tensorplane.core.errors import UserError

    now = datetime.now(UTC)
    with contextlib.suppress(UserError):
        return replace(listing.get_job(access.api, job_set, now), ended=now)
    return None


def stopped(job_set: Object) -> str:
    """What becomes of a job that is deleted."""
    from tensorplane.cli.kueue import workloads
    from tensorplane.driver.runs.job_set import JobSet

    if _waits(job_set):
        return f"removed from queue {workloads.queue_of(job_set)}"
    job = JobSet(job_set)
    grace = max((int(each.get("terminationGracePeriodSeconds", 30)) for each in job.pods), default=0)
    stays = "; its checkpoints stay" if job.has_checkpoints else ""
    return f"cancelled; its pods have {grace} s to save and end{stays}"


def _waits(job_set: Object) -> bool:
    """Whether Kueue holds it back: it has no pods."""
    from tensorplane.cli.kueue import workloads

    return workloads.queue_of(job_set) is not None and bool(job_set["spec"].get("suspend"))


@click.command("cancel")
@click.argument("job")
@options.stack_option
@options.team_option
def click_command(job: str, stack: str, team: str | None) -> None:
    """Stop a training job. It may wait or run; its checkpoints stay.

    JOB is a training job of the stack, a JobSet's name, or NAMESPACE/NAME of a team's.
    """
    print(cancel(job, stack, team, options.kubeconfig_context()))
