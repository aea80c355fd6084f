"""`tensorplane cancel JOB`: stops a training job; its checkpoints stay."""

from __future__ import annotations

import click

from cli import options


def cancel(job: str, stack: str, team: str | None, context: str) -> str:
    """Delete the JobSet of a job that has not ended, and say what stays. A Fault if it has ended."""
    from cli.access import Access
    from cli.jobs import in_cluster, named
    from driver import advice
    from driver.runs.job_set import JobSet
    from embedded.fault import Fault

    access = Access.of(stack, team, context)
    job_set = access.job(job, alive=True)
    about = job_set["metadata"]
    if word := in_cluster.ended(job_set):
        raise Fault(f"{about['name']}: has {word} already, so there is nothing to cancel")
    # In the foreground: the JobSet is there, and its GPUs count, until its pods have ended.
    access.api.delete(in_cluster.path(job_set), propagationPolicy="Foreground")
    grace = max((int(each.get("terminationGracePeriodSeconds", 30)) for each in JobSet(job_set).pods), default=0)
    stays = "; its checkpoints stay" if JobSet(job_set).has_checkpoints else ""
    told = f"{about['name']}: cancelled; its pods have {grace} s to save and end{stays}"
    if named.shown(job_set, access.namespace) in access.declared:
        again = advice.refresh(access.stack, context)
        told += f"\nThe stack declares it: remove it from the settings, or create it again with: {again}"
    return told


@click.command("cancel")
@click.argument("job")
@options.stack
@options.team
def command(job: str, stack: str, team: str | None) -> None:
    """Stop a training job, in the queue or running; its checkpoints stay.

    JOB is a training job of the stack, a JobSet's name, or NAMESPACE/NAME of a team's.
    """
    print(cancel(job, stack, team, options.context()))
