"""`tensorplane cancel JOB`: stops a training job; its checkpoints stay."""

from __future__ import annotations

import click

from cli import options


def cancel(job: str, stack: str, context: str) -> str:
    """Delete the JobSet of a job that has not ended, and say what stays. A Fault if it has ended."""
    from cli import cluster_api
    from cli.jobs import named
    from cli.kueue.facts import condition
    from components import versions
    from driver.runs.job_set import JobSet
    from driver.stack_settings import StackSettings
    from driver.target import Target
    from embedded.fault import Fault

    target = Target.of(context, stack=stack)
    settings = StackSettings(stack, target.home)
    settings.source()
    api, group = cluster_api.reached(target), f"/apis/{versions.JOBSET_API}"
    job_sets, declared = api.items(f"{group}/jobsets"), settings.section("workloads")
    job_set = named.named(job_sets, settings.namespace, job, declared, stack, context)
    about = job_set["metadata"]
    for kind, word in (("Completed", "finished"), ("Failed", "failed")):
        if condition(job_set, kind).holds:
            raise Fault(f"{about['name']}: has {word} already, so there is nothing to cancel")
    # In the foreground: the JobSet is there, and its GPUs count, until its pods have ended.
    api.delete(f"{group}/namespaces/{about['namespace']}/jobsets/{about['name']}", propagationPolicy="Foreground")
    grace = max((int(each.get("terminationGracePeriodSeconds", 30)) for each in JobSet(job_set).pods), default=0)
    stays = "; its checkpoints stay" if JobSet(job_set).has_checkpoints else ""
    return f"{about['name']}: cancelled; its pods have {grace} s to save and end{stays}"


@click.command("cancel")
@click.argument("job")
@options.stack
def command(job: str, stack: str) -> None:
    """Stop a training job, in the queue or running; its checkpoints stay.

    JOB is a training job of the stack, a JobSet's name, or NAMESPACE/NAME of a team's.
    """
    print(cancel(job, stack, options.context()))
