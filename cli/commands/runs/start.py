"""Starts and stops runs of pipelines."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from tensorplane.cli import stack_config
from tensorplane.cli.access import Access
from tensorplane.cli.commands import cancel as cancel_job
from tensorplane.cli.commands.runs import newest
from tensorplane.cli.pipelines import pods
from tensorplane.cli.pipelines import workflow as workflows
from tensorplane.cli.pipelines.workflow import ENDS, state_of
from tensorplane.components.base.labels import NAME
from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.stack import ResolvedStack
from tensorplane.stack_file.nearest import did_you_mean
from tensorplane.workloads.pipeline import run as pipeline_run
from tensorplane.workloads.pipeline.run import MANAGER, TEMPLATES, WORKFLOWS

_SECONDS_TO_DELETE = 120
_SECONDS_TO_END = 120
_POLL_SECONDS = 0.5
_FAILED = ("failed", "cancelled")


def run(pipeline: str, stack: str, context: str, account: str) -> str:
    """Starts a run on the newest versions, and says so. A UserError if one of its datasets has no version."""
    access = Access.of(stack, None, context)
    template = _template(access, pipeline)
    return start(access, stack_config.load(stack_config.file(stack)), template, account)


def start(access: Access, resolved: ResolvedStack, template: Mapping[str, Any], account: str) -> str:
    """Starts a run of a WorkflowTemplate unless it goes on, or has made the newest versions; what came of it.

    A UserError if it has made some of them, and another run will replace them: a step finds the version that it made.
    """
    # Before the datasets: a run that ends meanwhile has made its versions.
    there = _runs(access, template["metadata"]["name"])
    commits, outputs = newest.read(access, resolved, template, account)
    beginning = pipeline_run.beginning(template, commits)
    replaces = {name: pipeline_run.replaced(log, beginning) for name, log in outputs.items()}
    wanted = pipeline_run.workflow(template, commits, replaces)
    makers = [pipeline_run.maker(log[0]) if log else "" for log in outputs.values()]
    is_made = bool(makers) and all(pipeline_run.begins(maker, beginning) for maker in makers)
    going = [name for name, state in there.items() if state not in ENDS]
    same = [name for name in going if pipeline_run.begins(name, beginning)]
    name = wanted["metadata"]["name"]
    watch = f"watch it with: {access.command('runs')}"
    if same:
        return f"{same[0]}: is {there[same[0]]} already; {watch}"
    if going and any(pipeline_run.begins(maker, beginning) for maker in makers):
        problem = f"is {there[going[0]]} and will replace the outputs"
        raise UserError(f"{going[0]}: {problem}; start again once it has ended")
    if is_made and there.get(name) not in _FAILED:
        made_by = name if name in there else max(makers)
        return f"{made_by}: has finished already; commit a new version for another run"
    path = pipeline_run.path(WORKFLOWS, access.namespace, name)
    if name in there:
        _delete(access, path)
    access.api.apply(path, wanted, MANAGER)
    begun = "started again; parts that are done are not repeated" if name in there else "started"
    return f"{name}: {begun}; {watch}"


def _runs(access: Access, pipeline: str) -> dict[str, str]:
    """The state of each run of a pipeline, by name."""
    found = access.api.items(pipeline_run.path(WORKFLOWS, access.namespace), labelSelector=f"{NAME}={pipeline}")
    return {one["metadata"]["name"]: state_of(one) for one in found}


def _delete(access: Access, path: str) -> None:
    """Deletes a run that failed, and waits until its pods are gone, too."""
    access.api.delete(path, propagationPolicy="Foreground")
    until = time.monotonic() + _SECONDS_TO_DELETE
    while access.api.get(path):
        if time.monotonic() > until:
            raise UserError(f"{path.rpartition('/')[2]}: its former run is still being deleted; try again in a minute")
        time.sleep(_POLL_SECONDS)


def cancel(run: str, stack: str, context: str) -> str:
    """Stops a run. A UserError if it has ended, or there is none."""
    access = Access.of(stack, None, context)
    path = pipeline_run.path(WORKFLOWS, access.namespace, run)
    there = access.api.get(path)
    if there is None:
        names = [one["metadata"]["name"] for one in access.api.items(pipeline_run.path(WORKFLOWS, access.namespace))]
        remedy = f"choose one of {', '.join(sorted(names))}{did_you_mean(run, names)}" if names else "there is none"
        raise UserError(f"{run}: no run has this name; {remedy}")
    state, jobs = state_of(there), pods.unfinished_jobs(access.api, there)
    if state in ENDS and not jobs:
        raise UserError(f"{run}: has {state} already, so there is nothing to cancel")
    if state not in ENDS:
        about = {"apiVersion": there["apiVersion"], "kind": "Workflow", "metadata": {"name": run}}
        # A manager of its own: it owns this field alone.
        access.api.apply(path, {**about, "spec": {"shutdown": "Terminate"}}, f"{MANAGER}-cancel")
    lines = [f"{run}: cancelled; results of parts that are done stay for the next run"]
    if workflows.has_jobs(there):
        # Argo ends its own pods, and leaves what they have created.
        jobs = _jobs_of_ended(access, path, there)
    for job in jobs:
        cancel_job.delete(access, job)
        lines.append(f"{job['metadata']['name']}: {cancel_job.stopped(job)}")
    return "\n".join(lines)


def _jobs_of_ended(access: Access, path: str, run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The unfinished jobs of a run once it has ended and starts no more. A run that is deleted has none."""
    until = time.monotonic() + _SECONDS_TO_END
    while (there := access.api.get(path)) and (state_of(there) not in ENDS or pods.creates_jobs(access.api, there)):
        if time.monotonic() > until:
            if state_of(there) in ENDS:  # Argo could not end its pod; that one ends when the job is gone
                break
            name = run["metadata"]["name"]
            raise UserError(
                f"{name}: is still being stopped, and its jobs go on meanwhile; cancel it again in a minute"
            )
        time.sleep(_POLL_SECONDS)
    return pods.unfinished_jobs(access.api, there) if there else []


def _template(access: Access, pipeline: str) -> dict[str, Any]:
    if found := access.api.get(pipeline_run.path(TEMPLATES, access.namespace, pipeline)):
        return found
    declared = workflows.declared(access)
    if pipeline in declared:
        raise UserError(
            f"{pipeline}: is not deployed yet; deploy it with: {command_lines.deploy(access.stack, access.context)}"
        )
    remedy = f"choose one of {', '.join(declared)}{did_you_mean(pipeline, declared)}" if declared else "declare one"
    raise UserError(f"{pipeline}: no pipeline of stack {access.stack} has this name; {remedy}")
